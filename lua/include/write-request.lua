--- @include "layout"
-- Stores a lease or a ticket.
local function write_request(ctx, request_id, request)
  redis.call('HSET', ctx.keys[REQUESTS], request_id, struct.pack(REQUEST_FORMAT, unpack(request, 1, LAPSED_LEASE)))
end
