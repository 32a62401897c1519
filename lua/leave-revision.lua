--- @include "begin"
--- @include "commit"
--- @include "reap-activators"
-- Ends an activator's part in a revision at once: its tickets go, its leases are asked about.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   activatorId  text
--   now          us, 0 for the server's time
-- Reply: ok, more (1 when it must be called again) | unknown-revision
-- Cost: O(log n) for each of about 64 requests of the revision
-- Caller: activator that stops
local activator_id = ARGV[1]

local ctx = begin(KEYS, ARGV[2])
if not ctx then return { 'unknown-revision' } end
local expiry = redis.call('ZSCORE', KEYS[ACTIVATORS], activator_id)
if not expiry then return { 'ok', 0 } end
ctx[NOTED] = ''
-- No lease ends at or below 0, and each leave has a time of its own.
if tonumber(expiry) > 0 then redis.call('ZADD', KEYS[ACTIVATORS], -ctx[CLOCK], activator_id) end
reap_activators(ctx)
commit(ctx, 'leave', '', activator_id)
return { 'ok', redis.call('ZSCORE', KEYS[ACTIVATORS], activator_id) and 1 or 0 }
