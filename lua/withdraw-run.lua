--- @include "runs-change"
-- Forgets a run that could not be made durable and was refused to its caller.
-- Keys: run-counts run-requests run-states run-payloads run-secrets run-accepted run-owned run-owners run-due
-- Args:
--   owner  activator
--   id     run id
-- Reply: withdrawn | lost
-- Cost: O(log n) for n runs
-- Caller: activator
local owner, id = unpack(ARGV)

local run = own_run(KEYS, id, owner)
if not run then return { 'lost' } end
forget_run(KEYS, id, run)
return { 'withdrawn' }
