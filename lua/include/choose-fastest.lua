--- @include "layout"
--- @include "flush-index"
--- @include "work-of"
--- @include "profile-heads"
--- @include "best-balance"
--- @include "as-published"
--- @include "warm-targets"
-- The target that `speed-aware` names. Within a profile the best is the head of the index, so one
-- candidate per profile is enough, and those that hold a beginning of the prompt: O(profiles * log n).
local function choose_fastest(ctx, call_details, exclude)
  flush_index(ctx)
  local works = call_details and call_details.works or parse_works('')
  local tokens, warm = call_details and call_details.tokens or 0, call_details and call_details.warm
  local found, offset = candidates_of(ctx, works, 0, exclude, tokens, warm), 0
  -- Suspected ones only when no ready one has a slot, fitting or not.
  if found.least == math.huge then
    offset = SUSPECTED_PROFILES
    found = candidates_of(ctx, works, offset, exclude, tokens, warm)
  end
  if warm then add_warm(ctx, found, warm, offset, exclude, tokens) end
  if #found == 0 then return nil end
  local speed = read_speed(ctx)
  local chosen
  if speed.rule == 'repo' then
    chosen = as_published(ctx, found, speed.alpha, works)
  elseif speed.rule == 'batch' and works[true] then
    chosen = best_for_batch(found, speed.alpha)
  elseif speed.rule == 'ect' then
    chosen = earliest_end(found)
  else
    chosen = best_balance(found, speed.alpha)
  end
  return chosen and chosen.uid
end
