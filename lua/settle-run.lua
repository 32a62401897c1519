--- @include "runs-change"
-- Ends the delivery of an answer: the secret goes, and the answer too when it is too large to keep.
-- Keys: run-counts run-requests run-states run-payloads run-secrets run-accepted run-owned run-owners run-due
-- Args:
--   now       us, 0 for the server's time
--   owner     activator
--   id        run id
--   delivery  delivered or failed
--   tries     attempts that were made
--   most      bytes of an answer that stay
--   kept      ms for which the state can be read afterwards
-- Reply: settled | lost
-- Cost: O(log n) for n runs
-- Caller: activator
local now, owner, id, delivery, tries, most, kept = unpack(ARGV)

local run = own_run(KEYS, id, owner)
if not run then return { 'lost' } end
run.delivery, run.deliveries = delivery, tonumber(tries)
if run.bytes > tonumber(most) then keep_payload(KEYS, id, run, '') end
close_run(KEYS, id, run, run_time(now) + tonumber(kept))
write_run(KEYS, id, run)
return { 'settled' }
