--- @include "layout"
--- @include "flush-index"
--- @include "read-ahead"
local function first_between(ctx, from, to, exclude)
  local key, ahead = ctx[KEY_LIST][ctx[INDEX]], ctx[FILLING] > 0 and 1 or ctx[AHEAD]
  if exclude.count == 0 and ahead > 1 then
    return read_ahead(ctx, call('ZRANGEBYSCORE', key, from, to, 'LIMIT', 0, ahead))
  end
  for _, uid in ipairs(call('ZRANGEBYSCORE', key, from, to, 'LIMIT', 0, exclude.count + 1)) do
    if not exclude[uid] then return uid end
  end
end

-- Round robin: the first target behind the cursor, then from the start. Those with a free slot come
-- before those with a place only, ready ones before suspected ones.
local function choose_next(ctx, exclude)
  local front = ctx[FRONT]
  if front and exclude.count == 0 then
    local uid = next_ahead(ctx, front.band + ctx[CURSOR])
    if uid then return uid end
  end
  flush_index(ctx)
  local cursor = ctx[CURSOR]
  for band = 0, SUSPECTED_FROM + BAND, ctx[PLACES] > 0 and BAND or SUSPECTED_FROM do
    local uid = first_between(ctx, '(' .. band + cursor, '(' .. band + BAND, exclude)
      or first_between(ctx, band, band + cursor, exclude)
    if uid then
      if ctx[FRONT] then ctx[FRONT].band = band end
      return uid
    end
  end
end

-- To the target chosen. Back at the home of a session, what was read ahead stands behind.
local function move_cursor(ctx, target)
  if target[ADMISSION] < ctx[CURSOR] then ctx[FRONT] = false end
  ctx[CURSOR] = target[ADMISSION]
end
