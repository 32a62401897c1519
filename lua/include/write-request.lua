--- @include "layout"
-- Keeps a lease or a ticket to be stored when the step ends; false ends it.
local function write_request(ctx, request_id, request)
  local written = ctx[WRITTEN] or {}
  ctx[WRITTEN], written[#written + 1] = written, request_id
  ctx[REQUEST_CACHE][request_id] = request
end
