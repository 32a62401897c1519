--- @include "layout"
--- @include "begin"
--- @include "run"
-- Stores the configuration of a revision and says so when it changed. Nothing else is touched, so
-- a change of policy is in force with the next choice.
-- Keys: meta
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
-- Reply: changed | same
-- Cost: O(1)
-- Caller: autoscaler at each change and resync, activator after a loss of the store
local meta, config, policy, revision, configs, given =
  KEYS[META], ARGV[1], ARGV[2], ARGV[10], ARGV[13], ARGV[14]
if redis.call('HGET', meta, 'config') == config then return { 'same' } end
local ctx = begin(KEYS, given)
if not ctx then
  local now = time_of(given)
  redis.call('HSET', meta, 'since', now)
  ctx = { keys = KEYS, now = now, clock = 0, hold = 0, integral = 0, arrivals = 0, cursor = 0,
    waiting = 0, busy = 0, policy = 1, events = false }
end
for number, name in ipairs(POLICIES) do
  if name == policy then ctx.policy = number end
end
store_run(ctx)
redis.call('HSET', meta, 'config', config, 'depth', ARGV[3], 'quarantine', ARGV[4],
  'quarantineMax', ARGV[5], 'action', ARGV[6], 'flaps', ARGV[7], 'scaleUpDelay', ARGV[8],
  'startTime', ARGV[9], 'revision', revision, 'channel', ARGV[11], 'wake', ARGV[12])
redis.call('PUBLISH', configs, revision)
return { 'changed' }
