--- @include "layout"
--- @include "flush-index"
--- @include "read-target"
--- @include "index-ranks"
-- Ranks at which the bands of the index end: free slots, places only, suspected ones. Counted from
-- the end, which is mostly empty and needs no walk.
local function band_ends(ctx)
  if ctx.bands then return ctx.bands end
  local key = ctx[KEY_LIST][ctx[INDEX]]
  local total = call('ZCARD', key)
  local suspected = total - call('ZCOUNT', key, SUSPECTED_FROM, '+inf')
  local ready = suspected
  if ctx[PLACES] > 0 then ready = total - call('ZCOUNT', key, BAND, '+inf') end
  ctx.bands = { ready, suspected, total }
  return ctx.bands
end

-- The one with fewer in flight; on a tie the first. Both were fetched.
local function freer_of(ctx, one, other)
  return in_flight_of(ctx, other) < in_flight_of(ctx, one) and other or one
end

-- Two different free targets at random.
local function choose_of_two(ctx, exclude, random)
  flush_index(ctx)
  local drawn = ctx.drawn
  if drawn then
    drawn.at = drawn.at + 2
    return freer_of(ctx, drawn[drawn.at - 1], drawn[drawn.at])
  end
  local from, count, skipped = 0, 0, exclude
  for _, to in ipairs(band_ends(ctx)) do
    skipped = exclude.count == 0 and exclude or excluded_ranks(ctx, exclude, from, to)
    count = to - from - #skipped
    if count > 0 then break end
    from = to
  end
  if count == 0 then return nil end
  local first, second = draw_ranks(random, count)
  local one = nth_target(ctx, first, from, skipped)
  if count == 1 then return one end
  local other = nth_target(ctx, second, from, skipped)
  fetch_targets(ctx, { one, other })
  return freer_of(ctx, one, other)
end
