--- @include "layout"
--- @include "read-request"
--- @include "read-target"
--- @include "new-target"
--- @include "details"
--- @include "set-state"
--- @include "drop-ticket"
--- @include "owned-member"
--- @include "write-target"
--- @include "write-request"
-- A target that has leases but has not reported yet; it leaves again if it never does.
local function placeholder_target(ctx, uid, address)
  local target, details = new_target(), read_details(ctx, uid)
  target[ADDRESS] = address
  set_state(ctx, uid, target, details, 'starting', 'not heard yet')
  write_details(ctx, uid, details)
  redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[NOW] + SUSPECT_TIME, 'h' .. uid)
  return target
end

-- Puts one lease back. It counts even beyond the capacity: it runs. A tombstone counts it too.
local function reassert_lease(ctx, request_id, lease, address)
  local uid = lease[UID]
  local target = read_target(ctx, uid) or placeholder_target(ctx, uid, address)
  local known = read_request(ctx, request_id)
  if known and known[KIND] == TICKET then
    drop_ticket(ctx, request_id, known)
    known = nil
  end
  if known and (known[LAPSED_LEASE] == 0 or known[UID] ~= uid) then return end
  if known then
    redis.call('ZREM', ctx[KEY_LIST][OWNED], owned_member('l', uid, request_id))
    target[LAPSED] = target[LAPSED] - 1
    -- What it weighs is counted already.
    known[HOLDER], known[LAPSED_LEASE] = lease[HOLDER], 0
    lease = known
  else
    target[IN_FLIGHT] = target[IN_FLIGHT] + 1
    if target[HELD] ~= HELD_ALL then target[HELD] = math.max(0, target[HELD] - 1) end
    ctx[BUSY] = ctx[BUSY] + 1
    if lease[LEASE_WORK] then target[WORK] = (target[WORK] or 0) + lease[LEASE_WORK] end
  end
  write_request(ctx, request_id, lease)
  write_target(ctx, uid, target)
end
