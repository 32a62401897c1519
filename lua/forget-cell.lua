-- Declares a cell lost for a service: what it held is free for others, and nobody waits to hear it.
-- Keys: book
-- Args:
--   cell      who is lost
-- Reply: ok, pods that it held
-- Cost: O(1)
-- Caller: activator of the home cell, when an operator says so
local book = KEYS[1]
local cell = ARGV[1]

local share_field, number_field = 's:' .. cell, 'n:' .. cell
local held = tonumber(redis.call('HGET', book, share_field) or 0)
redis.call('HSET', book, share_field, 0)
redis.call('HDEL', book, number_field)
return { 'ok', held }
