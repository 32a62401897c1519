--- @include "layout"
--- @include "read-target"
-- Reply for a lease or ticket that exists: `leased` with all of the lease, or `waiting`.
local function reply_request(ctx, request_id, request)
  if request[KIND] == 'lease' then
    local target = read_target(ctx, request[UID])
    return { 'leased', request[UID], target and target[ADDRESS] or '', request[ARRIVED_AT],
      request[GRANTED_AT] }
  end
  local counts = redis.call('HMGET', ctx.keys[META], 'n:ready', 'n:suspected')
  local ready = tonumber(counts[1] or 0) + tonumber(counts[2] or 0)
  return { 'waiting', request[ARRIVED_AT], ready, ctx.waiting }
end
