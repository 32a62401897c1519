--- @include "begin"
--- @include "commit"
--- @include "read-target"
--- @include "details"
--- @include "bury-target"
-- Deletes a target whose pod is gone. Its leases stay until their holders release them.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   uid        text
--   reason     text
--   now        us, 0 for the server's time
-- Reply: ok | gone | unknown-revision
-- Cost: O(log n) for n targets
-- Caller: autoscaler
local uid = ARGV[1]

local ctx = begin(KEYS, ARGV[3])
if not ctx then return { 'unknown-revision' } end
local target = read_target(ctx, uid)
if not target or target[STATE] == 'deleted' then return { 'gone' } end
bury_target(ctx, uid, target, read_details(ctx, uid), 'removed')
commit(ctx, 'remove', uid, ARGV[2], target)
return { 'ok' }
