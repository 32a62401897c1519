--- @include "layout"
--- @include "begin"
--- @include "run"
--- @include "fill-index"
-- Stores the configuration of a revision and says so when it changed. A policy is in force with the
-- next choice, or with the last of several calls when the targets must be put in another order.
-- Keys: meta targets free load
-- Args:
--   config       JSON, as read back
--   policy       load-balancing policy
--   depth        most waiting requests
--   quarantine   us, first period
--   quarantineMax us
--   action       replace or drop
--   flaps        changes within a minute that count as flapping
--   scaleUpDelay us
--   startTime    ms, median
--   revision     namespace/name
--   channel      prefix of the activators' channels
--   wake         channel that wakes the autoscaler
--   configs      channel of configuration changes
--   now          us, 0 for the server's time
-- Reply: changed | same, then more (1 when it must be called again)
-- Cost: O(log n) for each of at most 64 targets
-- Caller: autoscaler at each change and resync, activator after a loss of the store
local meta, config, policy, revision, configs, given =
  KEYS[META], ARGV[1], ARGV[2], ARGV[10], ARGV[13], ARGV[14]

local ctx = begin(KEYS, given)
local is_same = redis.call('HGET', meta, 'config') == config
if ctx and is_same and ctx.filling == 0 then return { 'same', 0 } end
if not ctx then
  local now = time_of(given)
  redis.call('HSET', meta, 'since', now)
  ctx = { keys = KEYS, now = now, clock = 0, hold = 0, integral = 0, arrivals = 0, cursor = 0,
    waiting = 0, busy = 0, policy = 1, filling = 0, events = false }
end
for number, name in ipairs(POLICIES) do
  if name == policy then apply_policy(ctx, number) end
end
store_run(ctx)
if is_same then return { 'same', ctx.filling } end
redis.call('HSET', meta, 'config', config, 'depth', ARGV[3], 'quarantine', ARGV[4],
  'quarantineMax', ARGV[5], 'action', ARGV[6], 'flaps', ARGV[7], 'scaleUpDelay', ARGV[8],
  'startTime', ARGV[9], 'revision', revision, 'channel', ARGV[11], 'wake', ARGV[12])
redis.call('PUBLISH', configs, revision)
return { 'changed', ctx.filling }
