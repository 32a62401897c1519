--- @include "begin"
--- @include "commit"
--- @include "read-request"
--- @include "read-target"
--- @include "new-target"
--- @include "details"
--- @include "owned-member"
--- @include "set-state"
--- @include "drop-ticket"
--- @include "grant-lease"
--- @include "write-target"
--- @include "reassert-lease"
-- Puts back what an activator holds after a loss of the store, or after its time was over.
-- Keys: meta targets free load requests owned queue activators events details timers
-- Args:
--   activatorId  text
--   now          us, 0 for the server's time
--   leases       repeated: leaseId, uid, address, arrivedAt, grantedAt (both us)
-- Reply: ok | unknown-revision
-- Cost: O(leases * log n) for n targets, at most 64 leases
-- Caller: activator
local activator_id = ARGV[1]

local ctx = begin(KEYS, ARGV[2])
if not ctx then return { 'unknown-revision' } end
redis.call('ZADD', KEYS[ACTIVATORS], ctx.clock + LEASE_TIME, activator_id)
for i = 3, #ARGV, 5 do
  reassert_lease(ctx, ARGV[i], {
    'lease', activator_id, tonumber(ARGV[i + 3]), ARGV[i + 1], tonumber(ARGV[i + 4]), 0,
  }, ARGV[i + 2])
end
commit(ctx, 'reassert', '', activator_id)
return { 'ok' }
