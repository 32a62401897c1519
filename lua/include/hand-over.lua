--- @include "layout"
--- @include "free-slots"
--- @include "serve-ticket"
-- Gives the free slots of a target to the first fitting waiting requests. Looks at a bounded number
-- of them per call; `ctx.more` says that there may be more to give. The caller writes the target.
local function hand_over(ctx, uid, target)
  local passed = 0
  while ctx.waiting > passed and free_slots(target) > 0 do
    if ctx.budget == 0 then
      ctx.more = true
      return
    end
    ctx.budget = ctx.budget - 1
    local request_id = redis.call('ZRANGE', ctx.keys[QUEUE], passed, passed)[1]
    if not serve_ticket(ctx, uid, target, request_id) then passed = passed + 1 end
  end
end
