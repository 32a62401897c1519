--- @include "begin"
--- @include "commit"
--- @include "read-request"
--- @include "read-target"
--- @include "forget-lease"
--- @include "lapse-lease"
--- @include "drop-ticket"
--- @include "free-slots"
--- @include "hand-over"
--- @include "write-target"
--- @include "settle-target"
-- Only the pod knows when the work of a caller who left has ended.
local function goes_on(target, outcome)
  return (outcome == 'cancelled' or outcome == 'timeout') and target[CONFIRMS] == 1
    and target[STATE] ~= 'deleted'
end

-- Ends a lease or drops a ticket, and hands the slot on.
local function release(ctx, lease_id, outcome)
  local request = read_request(ctx, lease_id)
  if not request then return { 'gone' } end
  if request[KIND] == TICKET then
    drop_ticket(ctx, lease_id, request)
    commit(ctx, 'cancel', '', lease_id)
    return { 'released' }
  end
  local uid = request[UID]
  local target = read_target(ctx, uid)
  if target and goes_on(target, outcome) then
    lapse_lease(ctx, lease_id, request, target)
  else
    forget_lease(ctx, lease_id, request, target)
  end
  if target and target[STATE] == 'draining' then
    settle_target(ctx, uid, target)
  elseif target then
    if ctx[WAITING] > 0 or ctx[PLACES] > 0 then hand_over(ctx, uid, target) end
    write_target(ctx, uid, target)
  end
  commit(ctx, 'release', uid, lease_id, target)
  return { 'released' }
end
