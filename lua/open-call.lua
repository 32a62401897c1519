--- @include "workflow-record"
--- @include "workflow-stage"
-- Opens a call of a workflow, which begins with its first one. The first call of a later stage starts
-- that stage; siblings share its instant, budget and rest. The same call twice counts once.
-- Keys: workflow
-- Args:
--   now         us, 0 for the server's time
--   callId      text
--   stage       text
--   index       of the stage, grows
--   stageUs     expected time of this stage
--   slo         us, 0 for none
--   deadline    us, 0 for none
--   leastSlo    us, 0 for none
--   mayExtend   1 when this call may move the objective
--   template    of the class, as include/template has it
--   remaining   the same of the stages after this one, `-` when the caller does not know
--   fanout      parallel calls of this stage, 0 when the caller does not say
-- Reply: ok, then as text readyAt budget deadline rest arrivedAt, then index, open, last target, its prints
-- Cost: O(stages of the template)
-- Caller: activator, before acquire-lease
local key = KEYS[1]
local given, call_id, stage, index, us, slo, deadline, least, may_extend, template, remaining,
  fanout = unpack(ARGV)
local now = workflow_time(given)
slo, deadline, least = tonumber(slo), tonumber(deadline), tonumber(least)

local function reply_plan(workflow, ready, budget, rest)
  local function text(number) return string.format('%.17g', number) end
  return { 'ok', text(ready), text(budget), text(workflow.deadline), text(rest),
    text(workflow.arrive), workflow.index, workflow.open, workflow.last,
    workflow.prints }
end

local workflow = read_workflow(key)
local known = workflow and redis.call('HGET', key, 'c:' .. call_id)
if known then
  local ready, budget, rest = string.match(known, '^%a (%S+) (%S+) (%S+)')
  return reply_plan(workflow, tonumber(ready), tonumber(budget), tonumber(rest))
end
if workflow and workflow.ended == 1 then
  redis.call('DEL', key)
  workflow = nil
end
workflow = workflow or new_workflow(now, template)
now = math.max(now, workflow.ready)
-- The first objective counts, unless the tenant may move it: the earlier of duration and instant.
if (slo > 0 or deadline > 0) and (workflow.slo == 0 or may_extend == '1') then
  local by_deadline = deadline > 0 and deadline - workflow.arrive or math.huge
  workflow.slo = math.max(1, least, math.min(slo > 0 and slo or math.huge, by_deadline))
  workflow.deadline = workflow.arrive + workflow.slo
end
index = tonumber(index)
if index > workflow.index then
  start_stage(workflow, { stage = stage, index = index, us = tonumber(us), now = now },
    parse_template(template), remaining ~= '-' and parse_template(remaining) or nil)
end
if index == workflow.index then workflow.fanout = math.max(workflow.fanout, tonumber(fanout)) end
local record
if workflow.calls < MOST_CALLS then
  workflow.calls, workflow.open = workflow.calls + 1, workflow.open + 1
  record = string.format('o %.17g %.17g %.17g %d', workflow.ready, workflow.budget, workflow.rest,
    math.min(index, workflow.index))
end
write_workflow(key, workflow, call_id, record)
redis.call('PEXPIRE', key, math.floor(2 * workflow.slo / 1000) + 3600000)
return reply_plan(workflow, workflow.ready, workflow.budget, workflow.rest)
