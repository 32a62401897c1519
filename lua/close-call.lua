--- @include "workflow-record"
--- @include "workflow-stage"
-- Ends a call of a workflow. After the last open call, when the final one has ended and all calls that
-- its stage was said to have, the workflow is over: it is kept for a minute, so that repeated words
-- find it, and goes.
-- Keys: workflow
-- Args:
--   now      us, 0 for the server's time
--   callId   text
--   target   uid of the target that ran it, empty for none
--   final    1 when it was the workflow's last
--   prints   fingerprints of the beginning of its prompt, separated by spaces
-- Reply: ok
-- Cost: O(1)
-- Caller: activator, after release-lease
local key = KEYS[1]
local now, call_id, target, final, prints = workflow_time(ARGV[1]), unpack(ARGV, 2)

local record = redis.call('HGET', key, 'c:' .. call_id)
local workflow = record and string.sub(record, 1, 1) == 'o' and read_workflow(key)
if not workflow then return { 'ok' } end
workflow.open = workflow.open - 1
if target ~= '' then workflow.last, workflow.prints = target, prints end
if final == '1' then workflow.final = 1 end
end_stage(workflow, string.match(record, '(%S+)$'), now)
if workflow.final == 1 and workflow.open == 0 and workflow.done >= workflow.fanout then
  workflow.ended = 1
end
write_workflow(key, workflow, call_id, 'x' .. string.sub(record, 2))
if workflow.ended == 1 then redis.call('PEXPIRE', key, ENDED_MS) end
return { 'ok' }
