--- @include "layout"
-- Period in us between the heartbeats of a target: a second, longer from 10,000 targets on.
local function heartbeat_period(ctx)
  local targets = tonumber(redis.call('HGET', ctx[KEY_LIST][META], 'n:all') or 0)
  return math.max(SECOND, targets * 100)
end
