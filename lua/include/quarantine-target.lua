--- @include "layout"
--- @include "set-state"
-- Takes a target out for a period that doubles with each repeat within a minute.
local function quarantine_target(ctx, uid, target, details, reason)
  local period = tonumber(redis.call('HGET', ctx.keys[META], 'quarantine'))
  if details[Q_ENDED] > 0 and ctx.now - details[Q_ENDED] < MEMORY_OF_FAULTS then
    period = math.max(period, math.min(details[Q_PERIOD] * 2, QUARANTINE_CAP))
  end
  set_state(ctx, uid, target, details, 'quarantined', reason)
  details[Q_SINCE], details[Q_PERIOD], details[Q_UNTIL] = ctx.now, period, ctx.now + period
  redis.call('ZADD', ctx.keys[TIMERS], ctx.now + period, 'p' .. uid)
end
