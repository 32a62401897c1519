--- @include "layout"
--- @include "read-target"
-- Ranks of the excluded targets that stand in ranks [from, to) of the index, ascending.
local function excluded_ranks(ctx, exclude, from, to)
  local ranks = {}
  for _, uid in ipairs(exclude) do
    local rank = redis.call('ZRANK', ctx.keys[FREE], uid)
    if rank and rank >= from and rank < to then ranks[#ranks + 1] = rank end
  end
  table.sort(ranks)
  return ranks
end

-- The target that has `nth` not excluded ones before it, counted from rank `from`.
local function nth_target(ctx, nth, from, skipped)
  local rank = from + nth
  for _, excluded in ipairs(skipped) do
    if excluded <= rank then rank = rank + 1 end
  end
  return redis.call('ZRANGE', ctx.keys[FREE], rank, rank)[1]
end

-- Two different free targets at random, the one with fewer in flight; on a tie the first drawn. The
-- record comes along where it was read.
local function choose_of_two(ctx, exclude, random)
  -- Counting the end of the index, which is mostly empty, needs no walk through it.
  local total = redis.call('ZCARD', ctx.keys[FREE])
  local ready = total - redis.call('ZCOUNT', ctx.keys[FREE], FREE_BAND, '+inf')
  local from, to = 0, ready
  local skipped = excluded_ranks(ctx, exclude, from, to)
  if ready == #skipped then
    from, to = ready, total
    skipped = excluded_ranks(ctx, exclude, from, to)
  end
  local count = to - from - #skipped
  if count == 0 then return nil end
  local number1, number2 = string.match(random, '(%S+) (%S+)')
  local first = math.floor(number1 * count)
  local one = nth_target(ctx, first, from, skipped)
  if count == 1 then return one end
  local second = math.floor(number2 * (count - 1))
  if second >= first then second = second + 1 end
  local other = nth_target(ctx, second, from, skipped)
  local target, second_target = read_target(ctx, one), read_target(ctx, other)
  if second_target[IN_FLIGHT] < target[IN_FLIGHT] then return other, second_target end
  return one, target
end
