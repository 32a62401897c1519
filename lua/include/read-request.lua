--- @include "layout"
-- Lease or ticket of this id; nil when there is none.
local function read_request(ctx, request_id)
  local raw = redis.call('HGET', ctx.keys[REQUESTS], request_id)
  return raw and { struct.unpack(REQUEST_FORMAT, raw) }
end
