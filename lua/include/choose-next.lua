--- @include "layout"
-- Round robin: the first free target behind the cursor, then from the start; ready ones before
-- suspected ones.
local function choose_next(ctx, exclude)
  local limit = exclude.count + 1
  local ranges = {
    { '(' .. ctx.cursor, '(' .. FREE_BAND },
    { 0, ctx.cursor },
    { '(' .. FREE_BAND + ctx.cursor, '+inf' },
    { FREE_BAND, FREE_BAND + ctx.cursor },
  }
  for _, range in ipairs(ranges) do
    local uids = redis.call('ZRANGEBYSCORE', ctx.keys[FREE], range[1], range[2], 'LIMIT', 0, limit)
    for _, uid in ipairs(uids) do
      if not exclude[uid] then return uid end
    end
  end
end
