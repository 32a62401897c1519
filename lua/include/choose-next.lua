--- @include "layout"
local function first_between(ctx, from, to, exclude)
  local uids = redis.call('ZRANGEBYSCORE', ctx.keys[FREE], from, to, 'LIMIT', 0, exclude.count + 1)
  for _, uid in ipairs(uids) do
    if not exclude[uid] then return uid end
  end
end

-- Round robin: the first free target behind the cursor, then from the start; ready ones before
-- suspected ones.
local function choose_next(ctx, exclude)
  local cursor, suspected = ctx.cursor, FREE_BAND + ctx.cursor
  return first_between(ctx, '(' .. cursor, '(' .. FREE_BAND, exclude)
    or first_between(ctx, 0, cursor, exclude)
    or first_between(ctx, '(' .. suspected, '+inf', exclude)
    or first_between(ctx, FREE_BAND, suspected, exclude)
end
