--- @include "layout"
-- Keeps how long the last 100 waiting requests waited, in ms, for `Retry-After`.
local function record_wait(ctx, ticket)
  local slot = redis.call('HINCRBY', ctx[KEY_LIST][META], 'waits', 1) % 100
  redis.call('HSET', ctx[KEY_LIST][META], 'w' .. slot, math.floor((ctx[NOW] - ticket[ARRIVED_AT]) / 1000))
end
