--- @include "layout"
--- @include "count-state"
--- @include "now-ms"
--- @include "record-event"
-- Moves a target to a state, with all that a change of state means. The caller writes both records.
local function set_state(ctx, uid, target, details, state, reason)
  local old = target[STATE]
  details[REASON] = reason
  if old == state then return end
  if old == 'quarantined' then
    details[Q_ENDED] = ctx.now
    if details[Q_EVIDENCE] == 1 then redis.call('HINCRBY', ctx.keys[META], 'evidence', -1) end
    details[Q_EVIDENCE] = 0
  end
  if old == 'quarantined' or old == 'suspected' then
    redis.call('ZREM', ctx.keys[TIMERS], 'p' .. uid)
  end
  count_state(ctx, old, -1)
  count_state(ctx, state, 1)
  target[STATE] = state
  details[CHANGED_AT] = now_ms(ctx)
  if state == 'ready' and target[ADMISSION] == 0 then
    target[ADMISSION] = redis.call('HINCRBY', ctx.keys[META], 'admission', 1)
    target[IDLE_SINCE] = now_ms(ctx)
  end
  record_event(ctx, 'state', uid, reason, target)
end
