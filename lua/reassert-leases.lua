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
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   activatorId  text
--   now          us, 0 for the server's time
--   leases       repeated: leaseId, uid, address, arrivedAt, grantedAt (both us), `work class key`
-- Reply: ok | unknown-revision
-- Cost: O(leases * log n) for n targets, at most 64 leases
-- Caller: activator
local activator_id = ARGV[1]

local ctx = begin(KEYS, ARGV[2])
if not ctx then return { 'unknown-revision' } end
redis.call('ZADD', KEYS[ACTIVATORS], ctx[CLOCK] + LEASE_TIME, activator_id)
for i = 3, #ARGV, 6 do
  local lease = {
    LEASE, activator_id, tonumber(ARGV[i + 3]), ARGV[i + 1], tonumber(ARGV[i + 4]), 0,
  }
  local work, class, key = string.match(ARGV[i + 5], '^(%S+) (%S+) (%S+)$')
  if work then
    lease[LEASE_WORK], lease[LEASE_CLASS] = tonumber(work), tonumber(class)
    lease[LEASE_KEY], lease[STARTS_AT] = tonumber(key), 0
  end
  reassert_lease(ctx, ARGV[i], lease, ARGV[i + 2])
end
commit(ctx, 'reassert', '', activator_id)
return { 'ok' }
