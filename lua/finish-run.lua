--- @include "runs-change"
-- Stores how a run ended, and its answer in place of its body. Where a webhook waits for the
-- answer, the owner keeps the run until that is over.
-- Keys: run-counts run-requests run-states run-payloads run-secrets run-accepted run-owned run-owners run-due
-- Args:
--   now      us, 0 for the server's time
--   owner    activator
--   id       run id
--   state    success, failure or expired
--   status   of the answer, 0 for none
--   answer   JSON about the answer
--   payload  its body
--   deliver  1 when a webhook waits for it
--   kept     ms for which the state can be read afterwards
-- Reply: finished | lost
-- Cost: O(log n) for n runs
-- Caller: activator
local now, owner, id, state, status, answer, payload, deliver, kept = unpack(ARGV)

local run = own_run(KEYS, id, owner)
if not run or run.endedAt > 0 then return { 'lost' } end
local at = run_time(now)
end_run(KEYS, run, state, tonumber(status), at)
run.answer = answer
keep_payload(KEYS, id, run, payload)
if deliver == '1' then run.delivery = 'pending'
else close_run(KEYS, id, run, at + tonumber(kept)) end
write_run(KEYS, id, run)
return { 'finished' }
