-- Takes what a cell says it holds of a service's pods, and grants it more where the book allows.
-- The book's hash: `s:<cell>` its share, `n:<cell>` number of its last message, `max`.
-- Keys: book
-- Args:
--   cell      who speaks
--   number    of this message; older ones than the last change nothing
--   holds     pods that the cell may run by what it knows, and will run at most until it hears more
--   wants     pods that it would like to be allowed
--   max       of the service as a whole, 0 for no limit
--   missing   cells, separated by spaces, of whom the book must know before it grants anything
-- Reply: ok | old | hearing; share of the cell, number on record, pods granted to all cells, cells
--   that were not heard (text)
-- Cost: O(cells of the service)
-- Caller: activator of the home cell, for the autoscaler of any cell
local book = KEYS[1]
local cell, number, holds, wants = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local max, missing = tonumber(ARGV[5]), ARGV[6]

local share_field, number_field = 's:' .. cell, 'n:' .. cell
local function sum_of()
  local sum, values = 0, redis.call('HGETALL', book)
  for i = 1, #values, 2 do
    if string.sub(values[i], 1, 2) == 's:' then sum = sum + tonumber(values[i + 1]) end
  end
  return sum
end

local last = tonumber(redis.call('HGET', book, number_field) or 0)
if number <= last then
  return { 'old', tonumber(redis.call('HGET', book, share_field) or 0), last, sum_of(), '' }
end
redis.call('HSET', book, share_field, holds, number_field, number, 'max', max)

local unheard = {}
for name in string.gmatch(missing, '%S+') do
  if redis.call('HEXISTS', book, 's:' .. name) == 0 then unheard[#unheard + 1] = name end
end
if #unheard > 0 then
  return { 'hearing', holds, number, sum_of(), table.concat(unheard, ' ') }
end
local sum = sum_of()
local more = math.max(0, wants - holds)
if max > 0 then more = math.max(0, math.min(more, max - sum)) end
if more > 0 then redis.call('HSET', book, share_field, holds + more) end
return { 'ok', holds + more, number, sum + more, '' }
