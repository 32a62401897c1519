--- @include "layout"
-- Keeps one sample per call, for an hour of ticks. Of a run of equal figures only the first and
-- the last are kept, so an idle revision costs nothing.
local function append_sample(ctx)
  local samples = ctx[KEY_LIST][SAMPLES]
  local figures = string.format('%.17g %.0f', ctx[INTEGRAL], ctx[ARRIVALS])
  local sample = string.format('%.0f %s', ctx[NOW], figures)
  local last = redis.call('LRANGE', samples, -2, -1)
  local is_flat = #last == 2
  for _, entry in ipairs(last) do
    is_flat = is_flat and string.sub(entry, string.find(entry, ' ', 1, true) + 1) == figures
  end
  if is_flat then
    redis.call('LSET', samples, -1, sample)
    return
  end
  redis.call('RPUSH', samples, sample)
  redis.call('LTRIM', samples, -1900, -1)
end
