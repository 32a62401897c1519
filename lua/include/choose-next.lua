--- @include "layout"
--- @include "choose-first"
local function first_between(ctx, from, to, exclude)
  local is_ahead = exclude.count == 0 and (ctx[AHEAD] or 1) > 1
  local found = call('ZRANGEBYSCORE', ctx[KEY_LIST][ctx[INDEX]], from, to, 'WITHSCORES', 'LIMIT', 0,
    is_ahead and ctx[AHEAD] or exclude.count + 1)
  for i = 1, #found, 2 do
    if not exclude[found[i]] then
      if is_ahead then
        found.at = 1
        ctx[FRONT] = found
      end
      return found[i]
    end
  end
end

-- Round robin: the first target behind the cursor, then from the start. Those with a free slot come
-- before those with a place only, ready ones before suspected ones.
local function choose_next(ctx, exclude)
  if exclude.count == 0 then
    local uid = next_ahead(ctx, ctx[CURSOR])
    if uid then return uid end
  end
  flush_index(ctx)
  local cursor = ctx[CURSOR]
  for band = 0, SUSPECTED_FROM + BAND, ctx[PLACES] > 0 and BAND or SUSPECTED_FROM do
    local uid = first_between(ctx, '(' .. band + cursor, '(' .. band + BAND, exclude)
      or first_between(ctx, band, band + cursor, exclude)
    if uid then return uid end
  end
end
