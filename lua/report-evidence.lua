--- @include "begin"
--- @include "commit"
--- @include "read-target"
--- @include "details"
--- @include "judge-evidence"
--- @include "settle-target"
-- Judges a target by what an activator saw on the way to it.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   uid        text
--   leaseId    text, of the request that saw it, or empty
--   evidence   connect-failed, misdirected, pod-full, draining, reset-reused, reset or push-lost
--   now        us, 0 for the server's time
-- Reply: ok, then the state of the target | gone | unknown-revision
-- Cost: O(log n) for n targets
-- Caller: activator
local uid, lease_id, evidence = ARGV[1], ARGV[2], ARGV[3]

local ctx = begin(KEYS, ARGV[4])
if not ctx then return { 'unknown-revision' } end
local target = read_target(ctx, uid)
if not target or target[STATE] == 'deleted' then return { 'gone' } end
local details = read_details(ctx, uid)
judge_evidence(ctx, uid, target, details, evidence)
if target[STATE] ~= 'deleted' then settle_target(ctx, uid, target, details) end
commit(ctx, evidence, uid, lease_id, target)
return { 'ok', target[STATE] }
