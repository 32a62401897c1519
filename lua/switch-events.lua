--- @include "layout"
-- Switches the event log of a revision on or off; off also empties it.
-- Keys: meta events
-- Args:
--   on         1 or 0
-- Reply: ok | unknown-revision
-- Cost: O(1), off O(entries)
-- Caller: tests, `explain --record`
local meta, events = KEYS[1], KEYS[2]
if redis.call('EXISTS', meta) == 0 then return { 'unknown-revision' } end
redis.call('HSET', meta, 'events', ARGV[1])
if ARGV[1] == '0' then redis.call('UNLINK', events) end
return { 'ok' }
