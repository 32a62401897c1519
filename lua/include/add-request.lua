--- @include "layout"
-- Stores a lease or a ticket of an id that is new, and its holder as alive. False when the id is
-- known: nothing changed. `of`: the target of a lease, the excluded targets of a ticket.
local function add_request(ctx, request, kind, arrived_at, of)
  local keys, id, holder = ctx.keys, request.id, request.holder
  local record = struct.pack(REQUEST_FORMAT, kind, holder, arrived_at, of, ctx.now, 0)
  if redis.call('HSETNX', keys[REQUESTS], id, record) == 0 then return false end
  redis.call('ZADD', keys[ACTIVATORS], 'GT', ctx.clock + LEASE_TIME, holder)
  return true
end
