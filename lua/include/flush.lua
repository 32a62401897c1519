--- @include "layout"
--- @include "flush-index"
--- @include "pack-target"
--- @include "request-record"
local function flush_targets(ctx)
  local changed, cache, sets = ctx[CHANGED], ctx[TARGET_CACHE], {}
  if not changed[1] then return end
  for i, uid in ipairs(changed) do
    local target = cache[uid]
    sets[2 * i - 1], sets[2 * i], target[IS_CHANGED] = uid, pack_target(target), false
  end
  call('HSET', ctx[KEY_LIST][TARGETS], unpack(sets))
  ctx[CHANGED] = {}
end

local function flush_requests(ctx)
  local leases = ctx[NEW_LEASES]
  if leases and leases[1] then
    call('HSET', ctx[KEY_LIST][REQUESTS], unpack(leases))
    ctx[NEW_LEASES] = {}
  end
  local written, cache, sets, gone = ctx[WRITTEN], ctx[REQUEST_CACHE], {}, {}
  if not written[1] then return end
  for _, id in ipairs(written) do
    local request = cache[id]
    if request then
      sets[#sets + 1], sets[#sets + 2] = id, pack_request(request)
    else
      gone[#gone + 1] = id
    end
  end
  if sets[1] then call('HSET', ctx[KEY_LIST][REQUESTS], unpack(sets)) end
  if gone[1] then call('HDEL', ctx[KEY_LIST][REQUESTS], unpack(gone)) end
  ctx[WRITTEN] = {}
end

-- Stores what a step has changed: each target and request once, however often it changed.
local function flush(ctx)
  flush_index(ctx)
  flush_targets(ctx)
  flush_requests(ctx)
end
