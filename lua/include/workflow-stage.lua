--- @include "template"
-- The latest stages that are kept to be looked at.
local MOST_STAGES = 64

-- Expected time of what remains. Times that the caller knows hold before those it gave earlier.
local function expected_time(entries, known)
  local sum = 0
  for _, entry in ipairs(entries) do
    sum = sum + entry.probability * (known[entry.stage] or entry.us)
  end
  return sum
end

-- A stage becomes ready: what is left of the objective is split over it and the stages still to come,
-- by expected time. Debt counts up to one objective. The rule is that of common/hexgen/budget.ts.
local function start_stage(workflow, call, template, remaining)
  local known = {}
  for _, entry in ipairs(template) do known[entry.stage] = known[entry.stage] or entry.us end
  local left = remaining or advance_template(parse_template(workflow.template), call.stage)
  local later = expected_time(left, known)
  workflow.template, workflow.index, workflow.ready = format_template(left), call.index, call.now
  workflow.rest, workflow.budget, workflow.fanout, workflow.done = call.us + later, 0, 0, 0
  if workflow.slo > 0 then
    local objective = math.max(workflow.slo - (call.now - workflow.arrive), -workflow.slo)
    local whole = call.us + later
    workflow.budget = whole > 0 and (objective * call.us) / whole or objective
  end
  local line = string.format('%s %d %.17g %.17g 0\n', call.stage, call.index, call.now, workflow.budget)
  local _, count = string.gsub(workflow.stages, '\n', '')
  if count >= MOST_STAGES then workflow.stages = string.gsub(workflow.stages, '^[^\n]*\n', '') end
  workflow.stages = workflow.stages .. line
end

-- The last call so far of a stage has ended.
local function end_stage(workflow, index, now)
  if tonumber(index) == workflow.index then workflow.done = workflow.done + 1 end
  workflow.stages = string.gsub(workflow.stages, '(%S+ ' .. index .. ' %S+ %S+) %S+\n',
    string.format('%%1 %.17g\n', now))
end
