--- @include "begin"
--- @include "commit"
--- @include "reap-activators"
-- Ends an activator's part in a revision at once: its tickets go, its leases are asked about.
-- Keys: meta targets free load requests owned queue activators events details timers
-- Args:
--   activatorId  text
--   now          us, 0 for the server's time
-- Reply: ok, more (1 when it must be called again) | unknown-revision
-- Cost: O(log n) for each of at most 64 requests
-- Caller: activator that stops
local ctx = begin(KEYS, ARGV[2])
if not ctx then return { 'unknown-revision' } end
redis.call('ZADD', KEYS[ACTIVATORS], 0, ARGV[1])
ctx.alive[ARGV[1]] = false
reap_activators(ctx)
commit(ctx, 'leave', '', ARGV[1])
return { 'ok', redis.call('ZSCORE', KEYS[ACTIVATORS], ARGV[1]) and 1 or 0 }
