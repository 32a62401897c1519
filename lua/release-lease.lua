--- @include "begin"
--- @include "release"
-- Gives a slot back and hands it to the first fitting waiting request in the same step. A ticket of
-- this id, left by an acquire whose reply was lost, is dropped.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   leaseId    text
--   outcome    done, error, cancelled, timeout, moved or not-delivered
--   now        us, 0 or left out for the server's time
-- Reply: released | gone | unknown-revision
-- Cost: O(log n) for n targets or tickets
-- Caller: activator, once per lease
local lease_id, outcome, now = unpack(ARGV)

local ctx = begin(KEYS, now)
if not ctx then return { 'unknown-revision' } end
return release(ctx, lease_id, outcome)
