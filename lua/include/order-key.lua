--- @include "layout"
-- Whether a workflow cannot meet its deadline any more, even at twice the expected speed.
local function is_lost(ctx, deadline, rest)
  return deadline > 0 and ctx[NOW] + 0.5 * rest > deadline
end

-- Key of a call in whole us, smaller first; one without a deadline stands behind all that have one.
local function key_of(ctx, details, class, work)
  local order, key = ctx[ORDER], FARTHEST_KEY
  if order == FIFO then return 0 end
  if order == OLDEST then
    key = details.began
  elseif details.deadline > 0 then
    if order == PQ then
      key = details.ready + details.budget - work
    elseif order == EDF then
      key = details.deadline
    else
      key = class == 0 and details.deadline - details.rest or details.rest
    end
  end
  return math.max(-FARTHEST_KEY, math.min(FARTHEST_KEY, floor(key + 0.5)))
end

local function class_of(ctx, details)
  return ctx[ORDER] == URGENCY and is_lost(ctx, details.deadline, details.rest) and 1 or 0
end
