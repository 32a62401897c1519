--- @include "layout"
--- @include "read-target"
--- @include "heartbeat-missed"
--- @include "probe-due"
--- @include "tombstone-due"
-- One timer that is due; `found` collects what the caller must do.
local function run_timer(ctx, kind, uid, found)
  local target = read_target(ctx, uid)
  if not target then
    redis.call('ZREM', ctx[KEY_LIST][TIMERS], kind .. uid)
  elseif kind == 'h' then
    heartbeat_missed(ctx, uid, target)
    if target[STATE] == 'suspected' then probe_due(ctx, uid, target, found) end
  elseif kind == 'p' then
    probe_due(ctx, uid, target, found)
  elseif kind == 'x' then
    tombstone_due(ctx, uid, target)
  else
    redis.call('ZREM', ctx[KEY_LIST][TIMERS], kind .. uid)
    forget_lapsed(ctx, uid, target)
    write_target(ctx, uid, target)
  end
end
