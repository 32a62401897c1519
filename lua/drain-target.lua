--- @include "begin"
--- @include "commit"
--- @include "read-target"
--- @include "details"
--- @include "set-state"
--- @include "settle-target"
-- Takes a target out of service for good; it leaves when its last lease ends.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   uid        text
--   reason     text
--   now        us, 0 for the server's time
-- Reply: ok, then the state of the target | gone | unknown-revision
-- Cost: O(log n) for n targets
-- Caller: autoscaler (scale-down, deletion mark, reclaim notice)
local uid = ARGV[1]

local ctx = begin(KEYS, ARGV[3])
if not ctx then return { 'unknown-revision' } end
local target = read_target(ctx, uid)
if not target or target[STATE] == 'deleted' then return { 'gone' } end
local details = read_details(ctx, uid)
set_state(ctx, uid, target, details, 'draining', ARGV[2])
settle_target(ctx, uid, target, details)
commit(ctx, 'drain', uid, ARGV[2], target)
return { 'ok', target[STATE] }
