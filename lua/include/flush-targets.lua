--- @include "layout"
--- @include "pack-target"
-- Stores the targets that a step has changed.
local function flush_targets(ctx)
  local changed, cache = ctx[CHANGED], ctx[TARGET_CACHE]
  if not changed then return end
  if not changed[2] then
    local target = cache[changed[1]]
    ctx[CHANGED], target[IS_CHANGED] = false, false
    call('HSET', ctx[KEY_LIST][TARGETS], changed[1], pack_target(target))
    return
  end
  local sets = {}
  for i, uid in ipairs(changed) do
    local target = cache[uid]
    sets[2 * i - 1], sets[2 * i], target[IS_CHANGED] = uid, pack_target(target), false
  end
  call('HSET', ctx[KEY_LIST][TARGETS], unpack(sets))
  ctx[CHANGED] = false
end
