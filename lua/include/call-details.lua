--- @include "layout"
--- @include "work-of"
--- @include "warm-of"
--- @include "session-target"
--- @include "order-key"
-- What a request says of itself beyond its arrival, from one text: plan, level (-8 to 7), tenant, its
-- weight, tokens of the prompt, 1 to refuse a lost one, and name and us of each profile, with the warm
-- targets and a session behind them; \2 between the parts, \1 behind each name and number. A plan is `readyAt budget deadlineAt rest workflowArrivedAt`
-- or, for a call on its own, `objective rest`, in us. A call without a plan is a workflow of its own,
-- which begins with it and, without an objective, has no deadline.
local function parse_call(text, arrived_at)
  local plan, level, tenant, weight, tokens, reject, works = string.match(text,
    '^([^\2]*)\2([^\2]*)\2([^\2]*)\2([^\2]*)\2([^\2]*)\2([^\2]*)\2(.*)$')
  local ready, budget, deadline, rest, began = string.match(plan, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  if not ready then
    local slo, own_rest = string.match(plan, '^(%S+) (%S+)$')
    slo = tonumber(slo or 0)
    ready, began, budget, rest = arrived_at, arrived_at, slo, own_rest or 0
    deadline = slo > 0 and arrived_at + slo or 0
  end
  local affinity, session = session_of(works)
  return {
    affinity = affinity, session = session, ready = tonumber(ready), budget = tonumber(budget), deadline = tonumber(deadline),
    rest = tonumber(rest), began = tonumber(began), level = 7 - tonumber(level), tenant = tenant,
    weight = tonumber(weight), tokens = tonumber(tokens), rejects = reject == '1', text = works,
    works = parse_works(works), warm = parse_warm(works),
  }
end

-- The same of a ticket, for its hand-over.
local function call_of(ticket)
  return { ready = ticket[READY_AT], budget = ticket[BUDGET], deadline = ticket[DEADLINE],
    rest = ticket[REST], began = ticket[BEGAN_AT], tokens = ticket[TOKENS],
    works = parse_works(ticket[WORKS]), warm = parse_warm(ticket[WORKS]) }
end
