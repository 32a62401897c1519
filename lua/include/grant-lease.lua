--- @include "layout"
-- Takes one slot of a target for a request. The caller writes the target.
local function grant_lease(ctx, uid, target, request_id, request)
  target[IN_FLIGHT] = target[IN_FLIGHT] + 1
  ctx.busy = ctx.busy + 1
  redis.call('HSET', ctx.keys[REQUESTS], request_id, cmsgpack.pack({
    'lease', request[HOLDER], request[ARRIVED_AT], uid, ctx.now, 0,
  }))
end
