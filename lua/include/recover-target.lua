--- @include "layout"
--- @include "set-state"
--- @include "heartbeat-period"
-- Ends a doubt or a quarantine: the target is again what its sidecar said last.
local function recover_target(ctx, uid, target, details)
  set_state(ctx, uid, target, details, details[REPORTED], '')
  redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[NOW] + 3 * heartbeat_period(ctx), 'h' .. uid)
end
