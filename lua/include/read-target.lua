--- @include "layout"
--- @include "place-target"
local function unpack_target(ctx, raw)
  local target = { false, false, false, unpack_struct(TARGET_FORMAT, raw) }
  local from = target[REST_AT]
  if from <= #raw then
    local profile, kv_free
    target[WORK], profile, kv_free = unpack_struct(WORK_FORMAT, raw, from)
    target[PROFILE] = profile < MOST_PROFILES and profile or nil
    target[KV_FREE] = kv_free >= 0 and kv_free or nil
  end
  target[PLACE] = place_in(INDEX_KINDS[ctx[POLICY]], target, ctx[PLACES])
  return target
end

-- Record of a target, tombstones included; nil when unknown. Read once in a step: what one part of
-- it changes, the others see.
local function read_target(ctx, uid)
  local target = ctx[TARGET_CACHE][uid]
  if target == nil then
    local raw = call('HGET', ctx[KEY_LIST][TARGETS], uid)
    target = raw and unpack_target(ctx, raw)
    ctx[TARGET_CACHE][uid] = target
  end
  return target or nil
end

-- Reads several of them at once.
local function fetch_targets(ctx, uids)
  local raw = call('HMGET', ctx[KEY_LIST][TARGETS], unpack(uids))
  for i, uid in ipairs(uids) do
    if ctx[TARGET_CACHE][uid] == nil then ctx[TARGET_CACHE][uid] = raw[i] and unpack_target(ctx, raw[i]) end
  end
end
