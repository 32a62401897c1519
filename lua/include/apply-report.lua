--- @include "layout"
--- @include "set-state"
--- @include "quarantine-target"
-- Remembers a change from ready to not ready, and drops those that are too old to count.
local function note_flap(ctx, details)
  local recent = {}
  for _, at in ipairs(details[FLAPS]) do
    if ctx[NOW] - at < MEMORY_OF_FAULTS and #recent < 99 then recent[#recent + 1] = at end
  end
  recent[#recent + 1] = ctx[NOW]
  details[FLAPS] = recent
end

local function is_flapping(ctx, details)
  local recent = 0
  for _, at in ipairs(details[FLAPS]) do
    if ctx[NOW] - at < MEMORY_OF_FAULTS then recent = recent + 1 end
  end
  return recent > 0 and recent >= tonumber(redis.call('HGET', ctx[KEY_LIST][META], 'flaps'))
end

-- What the state of a target becomes when its sidecar says `reported`. A drain is never taken
-- back, and only a probe ends a quarantine.
local function apply_report(ctx, uid, target, details, reported, reason)
  details[REPORTED] = reported
  local state = target[STATE]
  if state == 'draining' or (state == 'quarantined' and reported ~= 'draining') then return end
  if reported == 'ready' then
    if state == 'unready' and is_flapping(ctx, details) then
      quarantine_target(ctx, uid, target, details, 'flapping')
    else
      set_state(ctx, uid, target, details, 'ready', reason)
    end
    return
  end
  if reported ~= 'draining' and (state == 'ready' or state == 'suspected') then
    note_flap(ctx, details)
  end
  set_state(ctx, uid, target, details, reported, reason)
end
