--- @include "begin"
--- @include "commit"
--- @include "read-target"
--- @include "details"
--- @include "recover-target"
--- @include "bury-target"
--- @include "evict-target"
--- @include "settle-target"
-- Judges a suspected or quarantined target by the result of a probe.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   uid        text
--   passed     1 or 0
--   now        us, 0 for the server's time
-- Reply: ok, then the state of the target | gone | unknown-revision
-- Cost: O(log n) for n targets or tickets
-- Caller: activator that was given the probe by a sweep
local uid, passed = ARGV[1], ARGV[2] == '1'

local ctx = begin(KEYS, ARGV[3])
if not ctx then return { 'unknown-revision' } end
local target = read_target(ctx, uid)
if not target or target[STATE] == 'deleted' then return { 'gone' } end
local details = read_details(ctx, uid)

if target[STATE] == 'suspected' then
  if passed then
    recover_target(ctx, uid, target, details)
  elseif details[SUSPECT] == 'silent' then
    bury_target(ctx, uid, target, details, 'silent')
  end
elseif target[STATE] == 'quarantined' and ctx[NOW] >= details[Q_UNTIL] then
  if passed then
    recover_target(ctx, uid, target, details)
  else
    local longest = tonumber(redis.call('HGET', KEYS[META], 'quarantineMax'))
    local left = details[Q_SINCE] + longest - ctx[NOW]
    if left <= 0 then
      evict_target(ctx, uid, target, details)
    else
      details[Q_PERIOD] = math.min(details[Q_PERIOD] * 2, QUARANTINE_CAP)
      details[Q_UNTIL] = ctx[NOW] + math.min(details[Q_PERIOD], left)
      redis.call('ZADD', KEYS[TIMERS], details[Q_UNTIL], 'p' .. uid)
    end
  end
end
if target[STATE] ~= 'deleted' then settle_target(ctx, uid, target, details) end
commit(ctx, 'probe', uid, ARGV[2], target)
return { 'ok', target[STATE] }
