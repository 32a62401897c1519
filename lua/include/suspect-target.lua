--- @include "layout"
--- @include "set-state"
-- Doubts a ready target: it is used only when no other is free, and probed at once.
-- `cause` is `silent` (nothing heard: a failed probe deletes it) or `evidence`.
local function suspect_target(ctx, uid, target, details, cause)
  set_state(ctx, uid, target, details, 'suspected', cause)
  details[SUSPECT] = cause
  redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[NOW], 'p' .. uid, ctx[NOW] + SUSPECT_TIME, 'h' .. uid)
end
