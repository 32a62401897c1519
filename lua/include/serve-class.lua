--- @include "layout"
--- @include "enter-queue"
--- @include "serve-range"
--- @include "tenants"
-- The tenants that wait, by their virtual time. One of whom nothing waits any more is forgotten when
-- it is next: what it owes is not beyond what the others have had.
local function serve_tenants(ctx, uid, target, class, unfit)
  local offset = 0
  while ctx[BUDGET_LEFT] > 0 do
    local member = members_from(ctx, 't', offset, 1)[1]
    if not member then return false end
    local tenant = string.sub(member, 10)
    if serve_range(ctx, uid, target, rank_prefix(class, tenant), unfit) then return true end
    local is_idle = #members_from(ctx, rank_prefix(0, tenant), 0, 1) == 0
      and #members_from(ctx, rank_prefix(1, tenant), 0, 1) == 0
    if is_idle and offset == 0 then
      forget_tenant(ctx, tenant, unpack_struct('>d', member, 2))
    else
      offset = offset + 1
    end
    ctx[BUDGET_LEFT] = ctx[BUDGET_LEFT] - 1
  end
  return false
end

local function serve_class(ctx, uid, target, class, unfit)
  if ctx.shared then return serve_tenants(ctx, uid, target, class, unfit) end
  return serve_range(ctx, uid, target, rank_prefix(class), unfit)
end
