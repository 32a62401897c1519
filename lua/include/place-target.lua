--- @include "layout"
--- @include "free-slots"
-- Where a target stands in an index of a kind; false when it takes no lease.
local function place_in(kind, target, places)
  local slots = run_slots(target)
  if slots + places <= 0 then return false end
  local is_suspected = target[STATE] == 'suspected'
  if kind == BY_ADMISSION then
    local place = target[ADMISSION]
    if slots <= 0 then place = place + BAND end
    return is_suspected and place + SUSPECTED_FROM or place
  end
  if kind == BY_LOAD then
    return target[IN_FLIGHT] * LOAD_STEP + target[ADMISSION] + (is_suspected and LOAD_BAND or 0)
  end
  local profile = (target[PROFILE] or 0) + (is_suspected and SUSPECTED_PROFILES or 0)
  return profile * WORK_STEP + math.min(target[WORK] or 0, WORK_STEP - 1)
end

-- Its name there: by work, equals stand in order of admission.
local function member_in(kind, uid, target)
  return kind == BY_WORK and pack_struct('>I4', target[ADMISSION]) .. uid or uid
end
