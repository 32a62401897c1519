--- @include "layout"
--- @include "choose-first"
--- @include "choose-next"
--- @include "choose-of-two"
--- @include "choose-fastest"
-- The target that the policy of the revision names among those with a free slot; nil when there is
-- none. The reference is activator/core/choose-target.ts, for `speed-aware` common/hexgen/dispatch.ts.
local function choose_target(ctx, random, exclude, details)
  local policy = ctx[POLICY]
  if policy == SPEED_AWARE then return choose_fastest(ctx, details, exclude) end
  if policy == ROUND_ROBIN then return choose_next(ctx, exclude) end
  if policy == RANDOM_CHOICE_2 then return choose_of_two(ctx, exclude, random) end
  return choose_first(ctx, exclude)
end
