--- @include "layout"
-- Keeps a lease or a ticket to be stored when the step ends; false ends it.
local function write_request(ctx, request_id, request)
  local written = ctx[WRITTEN]
  ctx[REQUEST_CACHE][request_id], written[#written + 1] = request, request_id
end
