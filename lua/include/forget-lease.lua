--- @include "layout"
--- @include "new-lease"
--- @include "owned-member"
--- @include "now-ms"
--- @include "write-request"
-- Ends a lease and its count on the target, which may be nil. The caller writes the target.
local function forget_lease(ctx, request_id, lease, target)
  write_request(ctx, request_id, false)
  local lapsed = lease[LAPSED_LEASE] == 1
  if lapsed then call('ZREM', ctx[KEY_LIST][OWNED], owned_member('l', lease[UID], request_id)) end
  if (lease[STARTS_AT] or 0) > 0 then
    call('ZREM', ctx[KEY_LIST][OWNED], placed_member(lease[STARTS_AT], request_id))
  end
  ctx[BUSY] = ctx[BUSY] - 1
  if not target then return end
  target[IN_FLIGHT] = target[IN_FLIGHT] - 1
  if lease[LEASE_WORK] then target[WORK] = (target[WORK] or 0) - lease[LEASE_WORK] end
  if lapsed then target[LAPSED] = target[LAPSED] - 1 end
  if target[IN_FLIGHT] == 0 then target[IDLE_SINCE] = now_ms(ctx) end
end
