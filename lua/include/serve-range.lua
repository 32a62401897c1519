--- @include "layout"
--- @include "enter-queue"
--- @include "serve-ticket"
-- Offers a slot to the members of a range of the queue in their order, until one takes it. `unfit`
-- remembers those that may not use this target.
local function serve_range(ctx, uid, target, prefix, unfit)
  local is_ranked = string.sub(prefix, 1, 1) == 'k'
  local passed = 0
  for _ = 0, MOST_TICKETS do
    if ctx[BUDGET_LEFT] <= 0 then return false end
    local member = members_from(ctx, prefix, passed, 1)[1]
    if not member then return false end
    ctx[BUDGET_LEFT] = ctx[BUDGET_LEFT] - 1
    local id = is_ranked and id_of_ranked(member) or string.sub(member, #prefix + 13)
    local is_served = not unfit[id] and serve_ticket(ctx, uid, target, id)
    if is_served then return true end
    if is_served == false then unfit[id], passed = true, passed + 1 end
  end
  return false
end

-- Those that waited longer than the limit go first, oldest first, whatever their rank.
local function serve_starved(ctx, uid, target, unfit)
  if ctx.limit == 0 then return false end
  local passed = 0
  for _ = 0, MOST_TICKETS do
    local member = members_from(ctx, 'a', passed, 1)[1]
    if not member or ctx[BUDGET_LEFT] <= 0 then return false end
    if ctx[NOW] - unpack_struct('>d', member, 2) <= ctx.limit then return false end
    ctx[BUDGET_LEFT] = ctx[BUDGET_LEFT] - 1
    local id = id_of_age(member)
    local is_served = not unfit[id] and serve_ticket(ctx, uid, target, id)
    if is_served then return true end
    if is_served == false then unfit[id], passed = true, passed + 1 end
  end
  return false
end
