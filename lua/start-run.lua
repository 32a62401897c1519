--- @include "runs-layout"
-- Notes that a run goes to a pod now, before the pod sees anything of it, and answers its body.
-- Keys: run-counts run-requests run-states run-payloads
-- Args:
--   now    us, 0 for the server's time
--   owner  activator
--   id     run id
-- Reply: started body | lost
-- Cost: O(1)
-- Caller: activator, once per attempt
local now, owner, id = unpack(ARGV)

local run = own_run(KEYS, id, owner)
if not run or run.endedAt > 0 then return { 'lost' } end
run.state = 'running'
run.attempts = run.attempts + 1
if run.startedAt == 0 then run.startedAt = run_time(now) end
write_run(KEYS, id, run)
return { 'started', redis.call('HGET', KEYS[RUN_PAYLOADS], id) or '' }
