--- @include "layout"
--- @include "read-target"
local function reply_waiting(ctx, arrived_at)
  local counts = redis.call('HMGET', ctx.keys[META], 'n:ready', 'n:suspected')
  local ready = tonumber(counts[1] or 0) + tonumber(counts[2] or 0)
  return { 'waiting', arrived_at, ready, ctx.waiting }
end

-- Reply for a lease or ticket that exists: `leased` with all of the lease, or `waiting`.
local function reply_request(ctx, request)
  if request[KIND] == 'ticket' then return reply_waiting(ctx, request[ARRIVED_AT]) end
  local target = read_target(ctx, request[UID])
  return { 'leased', request[UID], target and target[ADDRESS] or '', request[ARRIVED_AT],
    request[GRANTED_AT] }
end
