--- @include "layout"
--- @include "details"
--- @include "suspect-target"
--- @include "settle-target"
--- @include "bury-target"
--- @include "heartbeat-period"
-- No heartbeat came in time.
local function heartbeat_missed(ctx, uid, target)
  if ctx[NOW] < ctx[HOLD] then
    redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[HOLD] + 3 * heartbeat_period(ctx), 'h' .. uid)
    return
  end
  local details = read_details(ctx, uid)
  if target[STATE] == 'ready' then
    suspect_target(ctx, uid, target, details, 'silent')
    settle_target(ctx, uid, target, details)
  else
    bury_target(ctx, uid, target, details, target[STATE] == 'draining' and 'drained' or 'silent')
  end
end
