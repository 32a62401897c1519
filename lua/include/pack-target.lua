--- @include "layout"
-- A target as it is stored; what few of them have stands behind what all have.
local function pack_target(target)
  local record = pack_struct(TARGET_FORMAT, unpack(target, STATE, CAUSE))
  local work, profile, kv_free = target[WORK] or 0, target[PROFILE], target[KV_FREE]
  if work == 0 and not profile and not kv_free then return record end
  return record .. pack_struct(WORK_FORMAT, work, profile or 65535, kv_free or -1)
end
