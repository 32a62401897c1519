--- @include "layout"
--- @include "flush-index"
--- @include "flush-targets"
--- @include "request-record"
local function flush_requests(ctx)
  local leases = ctx[NEW_LEASES]
  if leases and leases[1] then
    call('HSET', ctx[KEY_LIST][REQUESTS], unpack(leases))
    ctx[NEW_LEASES] = {}
  end
  local written, cache = ctx[WRITTEN], ctx[REQUEST_CACHE]
  if not written then return end
  local sets, gone = {}, {}
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
  ctx[WRITTEN] = false
end

-- Stores what a step has changed: each target and request once, however often it changed.
local function flush(ctx)
  flush_index(ctx)
  flush_targets(ctx)
  flush_requests(ctx)
end
