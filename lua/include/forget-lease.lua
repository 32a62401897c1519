--- @include "layout"
--- @include "owned-member"
--- @include "now-ms"
-- Ends a lease and its count on the target, which may be nil. The caller writes the target.
local function forget_lease(ctx, request_id, lease, target)
  redis.call('HDEL', ctx.keys[REQUESTS], request_id)
  local lapsed = lease[LAPSED_LEASE] == 1
  if lapsed then redis.call('ZREM', ctx.keys[OWNED], owned_member('l', lease[UID], request_id)) end
  ctx.busy = ctx.busy - 1
  if not target then return end
  target[IN_FLIGHT] = target[IN_FLIGHT] - 1
  if lapsed then target[LAPSED] = target[LAPSED] - 1 end
  if target[IN_FLIGHT] == 0 then target[IDLE_SINCE] = now_ms(ctx) end
end
