--- @include "layout"
--- @include "flush-index"
--- @include "read-target"
--- @include "index-ranks"
-- Ranks at which the bands of the index end: free slots, places only, suspected ones. Counted from
-- the end, which is mostly empty and needs no walk.
local function band_ends(ctx)
  if not ctx.total then
    local key = ctx[KEY_LIST][ctx[INDEX]]
    ctx.total = call('ZCARD', key)
    ctx.suspected = ctx.total - call('ZCOUNT', key, SUSPECTED_FROM, '+inf')
    ctx.ready = ctx.suspected
    if ctx[PLACES] > 0 then ctx.ready = ctx.total - call('ZCOUNT', key, BAND, '+inf') end
  end
  return { ctx.ready, ctx.suspected, ctx.total }
end

-- Two different free targets at random, the one with fewer in flight; on a tie the first drawn.
local function choose_of_two(ctx, exclude, random)
  flush_index(ctx)
  local from, count, skipped = 0, 0, exclude
  for _, to in ipairs(band_ends(ctx)) do
    skipped = exclude.count == 0 and exclude or excluded_ranks(ctx, exclude, from, to)
    count = to - from - #skipped
    if count > 0 then break end
    from = to
  end
  if count == 0 then return nil end
  local number1, number2 = string.match(random, '(%S+) (%S+)')
  local first = floor(number1 * count)
  local one = nth_target(ctx, first, from, skipped)
  if count == 1 then return one end
  local second = floor(number2 * (count - 1))
  if second >= first then second = second + 1 end
  local other = nth_target(ctx, second, from, skipped)
  fetch_targets(ctx, { one, other })
  if ctx[TARGET_CACHE][other][IN_FLIGHT] < ctx[TARGET_CACHE][one][IN_FLIGHT] then return other end
  return one
end
