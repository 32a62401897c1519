--- @include "runs-change"
-- Puts a run back of which no container saw anything: it keeps its owner, or waits for any.
-- Keys: run-counts run-requests run-states run-payloads run-secrets run-accepted run-owned run-owners run-due
-- Args:
--   now    us, 0 for the server's time
--   owner  activator
--   id     run id
--   pause  ms until somebody may take it, -1 to keep it
-- Reply: queued | lost
-- Cost: O(log n) for n runs
-- Caller: activator
local now, owner, id, pause = unpack(ARGV)

local run = own_run(KEYS, id, owner)
if not run or run.endedAt > 0 then return { 'lost' } end
run.state = 'queued'
if pause ~= '-1' then
  give_run(KEYS, id, run, '')
  redis.call('ZADD', KEYS[RUN_DUE], run_time(now) + tonumber(pause), id)
end
write_run(KEYS, id, run)
return { 'queued' }
