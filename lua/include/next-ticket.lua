--- @include "layout"
--- @include "enter-queue"
--- @include "demote-tickets"
--- @include "serve-range"
--- @include "serve-class"
--- @include "serve-bound"
-- Prefix of the lost calls when their reserved turn has come; those of a tenant never pass a call of
-- another one that can still be met.
local function lost_turn(ctx)
  if ctx[ORDER] ~= URGENCY or ctx.share < SHARE_TURNS then return nil end
  if not ctx.shared then return rank_prefix(1) end
  local first = members_from(ctx, rank_prefix(0), 0, 1)[1]
  if not first then return nil end
  local tenant = string.sub(first, 3, string.find(first, '\0', 3, true) - 1)
  if count_of_prefix(ctx, rank_prefix(0)) > count_of_prefix(ctx, rank_prefix(0, tenant)) then
    return nil
  end
  return rank_prefix(1, tenant)
end

-- Offers one slot of a target to the waiting requests in the order of the revision. False when none
-- may use it, or when this call has looked at enough of them.
local function serve_next(ctx, uid, target, unfit)
  if not ctx[IS_RANKED] then return serve_range(ctx, uid, target, 'a', unfit) end
  demote_tickets(ctx)
  if serve_bound(ctx, uid, target, unfit) or serve_starved(ctx, uid, target, unfit) then return true end
  local lost = lost_turn(ctx)
  return (lost and serve_range(ctx, uid, target, lost, unfit))
    or serve_class(ctx, uid, target, 0, unfit)
    or (ctx[ORDER] == URGENCY and serve_class(ctx, uid, target, 1, unfit))
    or (ctx.rekey and serve_range(ctx, uid, target, 'a', unfit))
    or serve_bound(ctx, uid, target, unfit, true)
end
