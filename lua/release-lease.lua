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
-- Gives a slot back and hands it to the first fitting waiting request in the same step. A ticket of
-- this id, left by an acquire whose reply was lost, is dropped.
-- Keys: meta targets free load requests owned queue activators events details timers
-- Args:
--   leaseId    text
--   outcome    done, error, cancelled, timeout, moved or not-delivered
--   now        us, 0 for the server's time
-- Reply: released | gone | unknown-revision
-- Cost: O(log n) for n targets or tickets
-- Caller: activator, once per lease
local lease_id, outcome = ARGV[1], ARGV[2]

local ctx = begin(KEYS, ARGV[3])
if not ctx then return { 'unknown-revision' } end
local request = read_request(ctx, lease_id)
if not request then return { 'gone' } end
if request[KIND] == 'ticket' then
  drop_ticket(ctx, lease_id, request)
  commit(ctx, 'cancel', '', lease_id)
  return { 'released' }
end

local uid = request[UID]
local target = read_target(ctx, uid)
local was_free = target and free_slots(target) > 0
local goes_on = outcome == 'cancelled' or outcome == 'timeout'
if target and goes_on and target[CONFIRMS] == 1 and target[STATE] ~= 'deleted' then
  -- Only the pod knows when the work of a caller who left has ended.
  lapse_lease(ctx, lease_id, request, target)
else
  forget_lease(ctx, lease_id, request, target)
end
if target and target[STATE] == 'draining' then
  settle_target(ctx, uid, target)
elseif target then
  hand_over(ctx, uid, target)
  write_target(ctx, uid, target, was_free)
end
commit(ctx, 'release', uid, lease_id, target)
return { 'released' }
