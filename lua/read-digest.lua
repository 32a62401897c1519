--- @include "begin"
-- Reads what other cells are told of a revision; changes nothing.
-- Keys: meta cell
-- Args:
--   now     us, 0 for the server's time
-- Reply: ok, now, busy, waiting, integral (text), arrivals, ready, starting, facts (text) |
--   unknown-revision
-- Cost: O(1)
-- Caller: activator, for services of several cells: after a change, and each second
local cell = KEYS[2]

local ctx = begin(KEYS, ARGV[1])
if not ctx then return { 'unknown-revision' } end
local counts = redis.call('HMGET', KEYS[META], 'n:ready', 'n:starting')
return { 'ok', ctx[NOW], ctx[BUSY], ctx[WAITING], string.format('%.17g', ctx[INTEGRAL]), ctx[ARRIVALS],
  tonumber(counts[1] or 0), tonumber(counts[2] or 0), redis.call('GET', cell) or '' }
