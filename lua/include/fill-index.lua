--- @include "layout"
--- @include "place-target"
-- A policy that chooses from the other index is in force when that index is complete. Until then
-- the old one is, and every step keeps both. One call fills a bounded number of targets, in the
-- order of the index in force; a target that moves in it meanwhile is written to both.
local function fill_index(ctx, wanted)
  local keys, from, to = ctx.keys, index_of(ctx.policy), index_of(wanted)
  local page = redis.call('ZRANGEBYSCORE', keys[from],
    redis.call('HGET', keys[META], 'fill') or '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, MOST_FILLED)
  for i = 1, #page, 2 do
    local raw = redis.call('HGET', keys[TARGETS], page[i])
    redis.call('ZADD', keys[to], score_in(to, { struct.unpack(TARGET_FORMAT, raw) }), page[i])
  end
  if #page == 2 * MOST_FILLED then
    redis.call('HSET', keys[META], 'fill', '(' .. page[#page])
    ctx.filling = 1
    return
  end
  redis.call('UNLINK', keys[from])
  redis.call('HDEL', keys[META], 'fill')
  ctx.policy, ctx.filling = wanted, 0
end

-- Brings a policy in force, or closer to it.
local function apply_policy(ctx, wanted)
  local is_kept = index_of(ctx.policy) == index_of(wanted)
  if not is_kept then return fill_index(ctx, wanted) end
  if ctx.filling == 1 then
    redis.call('UNLINK', ctx.keys[FREE + LOAD - index_of(wanted)])
    redis.call('HDEL', ctx.keys[META], 'fill')
  end
  ctx.policy, ctx.filling = wanted, 0
end
