--- @include "layout"
--- @include "free-slots"
--- @include "next-ticket"
--- @include "offer-steal"
-- Gives the free slots of a target to the first fitting waiting requests. Looks at a bounded number
-- of them per call; `ctx[MORE]` says that there may be more to give. The caller writes the target.
local function hand_over(ctx, uid, target)
  local unfit = {}
  while ctx[WAITING] > 0 and free_slots(ctx, target) > 0 do
    if not serve_next(ctx, uid, target, unfit) then break end
  end
  if ctx[WAITING] > 0 and ctx[BUDGET_LEFT] <= 0 and free_slots(ctx, target) > 0 then ctx[MORE] = true end
  if ctx[PLACES] > 0 then offer_steals(ctx, uid, target) end
end
