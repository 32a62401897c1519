--- @include "layout"
--- @include "set-state"
--- @include "quarantine-target"
-- The highest threshold that can be set.
local MOST_FLAPS = 100

local function flap_threshold(ctx)
  return tonumber(redis.call('HGET', ctx[KEY_LIST][META], 'flaps'))
end

-- Remembers a change from ready to not ready, with no more of those before than may count.
local function note_flap(ctx, details)
  local known, recent = details[FLAPS], {}
  for i = math.max(1, #known + 2 - math.min(flap_threshold(ctx), MOST_FLAPS)), #known do
    if ctx[NOW] - known[i] < MEMORY_OF_FAULTS then recent[#recent + 1] = known[i] end
  end
  recent[#recent + 1] = ctx[NOW]
  details[FLAPS] = recent
end

local function is_flapping(ctx, details)
  local recent = 0
  for _, at in ipairs(details[FLAPS]) do
    if ctx[NOW] - at < MEMORY_OF_FAULTS then recent = recent + 1 end
  end
  return recent > 0 and recent >= flap_threshold(ctx)
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
