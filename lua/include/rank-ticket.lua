--- @include "layout"
--- @include "call-details"
-- What a ticket keeps of its call; one without details ranks behind all that have a deadline.
local function keep_details(ticket, details)
  if not details then
    local arrived_at = ticket[ARRIVED_AT]
    details = { ready = arrived_at, budget = 0, deadline = 0, rest = 0, began = arrived_at,
      tokens = 0, tenant = '', weight = 1, level = 7, text = '' }
  end
  ticket[CLASS], ticket[KEY], ticket[READY_AT], ticket[BUDGET] = NO_ORDER, 0, details.ready, details.budget
  ticket[DEADLINE], ticket[REST], ticket[BEGAN_AT] = details.deadline, details.rest, details.began
  ticket[TOKENS], ticket[TENANT], ticket[WEIGHT] = details.tokens, details.tenant, details.weight
  ticket[LEVEL], ticket[WORKS] = details.level, details.text
end

-- Class and key of a ticket under the order in force.
local function rank_ticket(ctx, ticket)
  if not ticket[CLASS] then keep_details(ticket) end
  local details = call_of(ticket)
  ticket[CLASS] = class_of(ctx, details)
  ticket[KEY] = key_of(ctx, details, ticket[CLASS],
    ctx[ORDER] == PQ and least_work(ctx, ticket[WORKS]) or 0)
end
