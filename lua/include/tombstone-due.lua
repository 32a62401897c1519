--- @include "layout"
--- @include "forget-lapsed"
--- @include "write-target"
--- @include "owned-member"
-- The tombstone's time is over; it stays while somebody's lease is counted on it.
local function tombstone_due(ctx, uid, target)
  forget_lapsed(ctx, uid, target)
  if target[IN_FLIGHT] > 0 then
    redis.call('ZADD', ctx.keys[TIMERS], ctx.now + TOMBSTONE_TIME, 'x' .. uid)
    write_target(ctx, uid, target)
    return
  end
  redis.call('HDEL', ctx.keys[TARGETS], uid)
  redis.call('ZREM', ctx.keys[TIMERS], 'x' .. uid, 'l' .. uid)
  redis.call('ZREM', ctx.keys[OWNED], owned_member('e', '', uid))
end
