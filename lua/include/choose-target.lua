--- @include "layout"
--- @include "place-target"
--- @include "choose-first"
--- @include "choose-next"
--- @include "choose-of-two"
-- The target that the policy of the revision names among those with a free slot, and its record if
-- the choice has read it; nil when there is none.
-- `random` holds two numbers in [0, 1), separated by a space. The reference is
-- activator/core/choose-target.ts.
local function choose_target(ctx, exclude, random)
  local policy = POLICIES[ctx.policy]
  if policy == 'round-robin' then return choose_next(ctx, exclude) end
  if policy == 'random-choice-2' then return choose_of_two(ctx, exclude, random) end
  -- `first-available`, `min-connections`, and `speed-aware` before a card is measured.
  return choose_first(ctx, index_of(ctx.policy), exclude)
end
