--- @include "layout"
--- @include "enter-queue"
--- @include "tenants"
-- Nobody waits: shares and ranks begin anew. A bounded number of tenants per step.
local function rest_queue(ctx)
  ctx.share, ctx.rekey = 0, false
  if ctx.shared then
    local members = members_from(ctx, 't', 0, MOST_TICKETS)
    for _, member in ipairs(members) do
      forget_tenant(ctx, string.sub(member, 10), unpack_struct('>d', member, 2))
    end
    if #members < MOST_TICKETS then ctx.shared, ctx.virtual = false, 0 end
  end
  if ctx[ORDER] == FIFO and not ctx.shared then ctx[IS_RANKED] = false end
end
