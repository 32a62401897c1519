--- @include "layout"
--- @include "profiles"
-- A target without a lease has no work before it; anything else is a fault, counted and set right.
-- The published rule alone never takes work off.
local function right_work(ctx, target)
  if (target[WORK] or 0) == 0 or target[IN_FLIGHT] > 0 then return end
  if read_speed(ctx).rule == 'repo' then return end
  target[WORK] = 0
  redis.call('HINCRBY', ctx[KEY_LIST][META], 'workFaults', 1)
end
