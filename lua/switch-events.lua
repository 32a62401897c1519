--- @include "layout"
--- @include "fence"
-- Switches the event log of a revision on or off; off also empties it.
-- Keys: meta events
-- Args:
--   on         1 or 0
-- Reply: ok | unknown-revision
-- Cost: O(1), off O(entries)
-- Caller: tests, `explain --record`
local meta, events = KEYS[1], KEYS[2]
local on = ARGV[1]
local run = redis.call('HGET', meta, RUN_FIELD)
if not run then
  fence(meta)
  return { 'unknown-revision' }
end
-- The switch is the lowest bit of the flags that every step reads.
local flags = string.byte(run, FLAGS_AT)
redis.call('HSET', meta, RUN_FIELD, string.sub(run, 1, FLAGS_AT - 1)
  .. string.char(flags - flags % 2 + tonumber(on)) .. string.sub(run, FLAGS_AT + 1))
if on == '0' then redis.call('UNLINK', events) end
return { 'ok' }
