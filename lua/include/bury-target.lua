--- @include "layout"
--- @include "details"
--- @include "set-state"
--- @include "forget-lapsed"
--- @include "write-target"
-- Causes after which a newer event brings the target back as if first seen; nothing else does.
local REVIVABLE = { silent = true, misdirected = true }

-- Deletes a target and leaves a tombstone, which keeps the order numbers and counts the leases that
-- their holders have yet to release. Writes the target.
local function bury_target(ctx, uid, target, details, cause)
  set_state(ctx, uid, target, details, 'deleted', cause)
  target[CAUSE], target[HELD], target[OCCUPIED] = cause, 0, 0
  redis.call('HDEL', ctx[KEY_LIST][DETAILS], uid)
  redis.call('ZREM', ctx[KEY_LIST][TIMERS], 'h' .. uid, 'p' .. uid)
  redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[NOW] + TOMBSTONE_TIME, 'x' .. uid)
  if not REVIVABLE[cause] then forget_lapsed(ctx, uid, target) end
  write_target(ctx, uid, target)
end
