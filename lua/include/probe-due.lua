--- @include "layout"
--- @include "details"
--- @include "evict-target"
-- A probe is due: name the target to a caller who probes, or give it up.
local function probe_due(ctx, uid, target, found)
  local details = read_details(ctx, uid)
  if target[STATE] == 'quarantined' then
    local longest = tonumber(redis.call('HGET', ctx[KEY_LIST][META], 'quarantineMax'))
    if ctx[NOW] - details[Q_SINCE] >= longest then
      if evict_target(ctx, uid, target, details) then found.evicted[#found.evicted + 1] = uid end
      return
    end
  elseif target[STATE] ~= 'suspected' then
    redis.call('ZREM', ctx[KEY_LIST][TIMERS], 'p' .. uid)
    return
  end
  -- Left due for a caller who probes.
  if not found.may_probe then return end
  found.probes[#found.probes + 1] = { uid, target[ADDRESS], target[STATE] }
  redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[NOW] + SECOND, 'p' .. uid)
end
