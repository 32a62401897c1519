--- @include "layout"
-- Keeps how long the last 100 waiting requests waited, in ms, for `Retry-After`.
local function record_wait(ctx, ticket)
  local slot = redis.call('HINCRBY', ctx.keys[META], 'waits', 1) % 100
  redis.call('HSET', ctx.keys[META], 'w' .. slot, math.floor((ctx.now - ticket[ARRIVED_AT]) / 1000))
end
