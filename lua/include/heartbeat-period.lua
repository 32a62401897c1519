--- @include "layout"
--- @include "count-state"
-- Period in us between the heartbeats of a target: a second, longer from 10,000 targets on.
local function heartbeat_period(ctx)
  return math.max(SECOND, count_of_targets(ctx) * 100)
end
