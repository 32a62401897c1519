--- @include "layout"
--- @include "set-state"
-- Takes a target out for a period that doubles with each repeat within a minute.
local function quarantine_target(ctx, uid, target, details, reason)
  local period = tonumber(redis.call('HGET', ctx[KEY_LIST][META], 'quarantine'))
  if details[Q_ENDED] > 0 and ctx[NOW] - details[Q_ENDED] < MEMORY_OF_FAULTS then
    period = math.max(period, math.min(details[Q_PERIOD] * 2, QUARANTINE_CAP))
  end
  set_state(ctx, uid, target, details, 'quarantined', reason)
  details[Q_SINCE], details[Q_PERIOD], details[Q_UNTIL] = ctx[NOW], period, ctx[NOW] + period
  redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[NOW] + period, 'p' .. uid)
end
