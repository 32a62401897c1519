--- @include "begin"
--- @include "commit"
--- @include "compare-pod"
-- Brings up to 32 targets in line with the pods that exist.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   now        us, 0 for the server's time
--   pods       repeated: uid, what (present, draining or absent), podName, card
-- Reply: ok, more (1 when a sweep has more to do) | unknown-revision
-- Cost: O(pods * log n) for n targets
-- Caller: autoscaler, each 30 s, after each new list, and when a pod leaves
local ctx = begin(KEYS, ARGV[1])
if not ctx then return { 'unknown-revision' } end
for i = 2, #ARGV, 4 do compare_pod(ctx, ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
commit(ctx, 'compare')
return { 'ok', ctx[MORE] and 1 or 0 }
