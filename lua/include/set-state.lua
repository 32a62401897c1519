--- @include "layout"
--- @include "count-state"
--- @include "profiles"
--- @include "now-ms"
--- @include "record-event"
-- Moves a target to a state, with all that a change of state means. The caller writes both records.
local function set_state(ctx, uid, target, details, state, reason)
  local old = target[STATE]
  details[REASON] = reason
  if old == state then return end
  if old == 'quarantined' then
    details[Q_ENDED] = ctx[NOW]
    if details[Q_EVIDENCE] == 1 then redis.call('HINCRBY', ctx[KEY_LIST][META], 'evidence', -1) end
    details[Q_EVIDENCE] = 0
  end
  if old == 'quarantined' or old == 'suspected' then
    redis.call('ZREM', ctx[KEY_LIST][TIMERS], 'p' .. uid)
  end
  count_state(ctx, old, state)
  if old == 'ready' then count_ready(ctx, target[PROFILE], -1) end
  if state == 'ready' then count_ready(ctx, target[PROFILE], 1) end
  target[STATE] = state
  details[CHANGED_AT] = now_ms(ctx)
  if state == 'ready' and target[ADMISSION] == 0 then
    target[ADMISSION] = redis.call('HINCRBY', ctx[KEY_LIST][META], 'admission', 1)
    target[IDLE_SINCE] = now_ms(ctx)
  end
  record_event(ctx, 'state', uid, reason, target)
end
