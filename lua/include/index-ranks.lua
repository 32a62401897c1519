--- @include "layout"
-- Two different ranks below `count` that two numbers in [0, 1) name.
local function draw_ranks(random, count)
  local space = string.find(random, ' ', 1, true)
  local first = floor(string.sub(random, 1, space - 1) * count)
  local second = floor(string.sub(random, space + 1) * (count - 1))
  if second >= first then second = second + 1 end
  return first, second
end

-- Ranks of the excluded targets that stand in ranks [from, to) of the index, ascending.
local function excluded_ranks(ctx, exclude, from, to)
  local ranks = {}
  for _, uid in ipairs(exclude) do
    local rank = call('ZRANK', ctx[KEY_LIST][ctx[INDEX]], uid)
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
  return call('ZRANGE', ctx[KEY_LIST][ctx[INDEX]], rank, rank)[1]
end
