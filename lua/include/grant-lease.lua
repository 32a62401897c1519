--- @include "layout"
--- @include "write-request"
-- Takes one slot of a target for a request that waited. The caller writes the target.
local function grant_lease(ctx, uid, target, request_id, ticket)
  target[IN_FLIGHT] = target[IN_FLIGHT] + 1
  ctx.busy = ctx.busy + 1
  write_request(ctx, request_id, { 'lease', ticket[HOLDER], ticket[ARRIVED_AT], uid, ctx.now, 0 })
end
