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
    local raw = ctx.packed and ctx.packed[uid]
    if not raw then raw = call('HGET', ctx[KEY_LIST][TARGETS], uid) end
    target = raw and unpack_target(ctx, raw)
    ctx[TARGET_CACHE][uid] = target
  end
  return target or nil
end

-- Reads several of them at once. They stay packed until they are looked at.
local function fetch_targets(ctx, uids)
  local packed, raw = ctx.packed or {}, call('HMGET', ctx[KEY_LIST][TARGETS], unpack(uids))
  for i = 1, #uids do packed[uids[i]] = raw[i] end
  ctx.packed = packed
end

-- Requests in flight at a target that was fetched.
local function in_flight_of(ctx, uid)
  local target = ctx[TARGET_CACHE][uid]
  if target then return target[IN_FLIGHT] end
  local _, _, _, in_flight = unpack_struct(TARGET_HEAD, ctx.packed[uid])
  return in_flight
end
