--- @include "layout"
--- @include "forget-lapsed"
--- @include "write-target"
--- @include "owned-member"
-- The tombstone's time is over; it stays while somebody's lease is counted on it.
local function tombstone_due(ctx, uid, target)
  forget_lapsed(ctx, uid, target)
  if target[IN_FLIGHT] > 0 then
    redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[NOW] + TOMBSTONE_TIME, 'x' .. uid)
    write_target(ctx, uid, target)
    return
  end
  redis.call('HDEL', ctx[KEY_LIST][TARGETS], uid)
  redis.call('ZREM', ctx[KEY_LIST][TIMERS], 'x' .. uid, 'l' .. uid)
  redis.call('ZREM', ctx[KEY_LIST][OWNED], owned_member('e', '', uid))
end
