--- @include "layout"
-- When a refused caller may try again, in ms: median wait of the last requests that waited, or the
-- median start time when no pod is ready.
local function retry_after(ctx)
  local meta = redis.call('HMGET', ctx[KEY_LIST][META], 'n:ready', 'startTime', 'waits')
  if tonumber(meta[1] or 0) == 0 then return tonumber(meta[2] or 0) end
  local fields = {}
  for slot = 1, math.min(99, tonumber(meta[3] or 0)) do fields[slot] = 'w' .. slot end
  if #fields == 0 then return 0 end
  local waits = redis.call('HMGET', ctx[KEY_LIST][META], unpack(fields))
  for i, wait in ipairs(waits) do waits[i] = tonumber(wait or 0) end
  table.sort(waits)
  return waits[math.ceil(#waits / 2)]
end
