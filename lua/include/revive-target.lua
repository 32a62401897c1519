--- @include "layout"
-- Brings a tombstone back as if first seen; leases that still run there keep their slots.
local function revive_target(ctx, uid, target)
  target[STATE], target[CAUSE], target[ADMISSION] = '', '', 0
  redis.call('ZREM', ctx[KEY_LIST][TIMERS], 'x' .. uid)
end
