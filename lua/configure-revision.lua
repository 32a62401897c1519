--- @include "layout"
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
--   configs      channel of configuration changes
--   now          us, 0 for the server's time
-- Reply: changed | same
-- Cost: O(1)
-- Caller: autoscaler at each change and resync, activator after a loss of the store
local meta, config = KEYS[META], ARGV[1]
if redis.call('HGET', meta, 'config') == config then return { 'same' } end
if redis.call('HEXISTS', meta, 'since') == 0 then
  local now = tonumber(ARGV[13])
  if now == 0 then
    local time = redis.call('TIME')
    now = time[1] * SECOND + time[2]
  end
  redis.call('HSET', meta, 'since', now, 'run', struct.pack(RUN_FORMAT, now, 0, 0, 0, 0, 0))
end
redis.call('HSET', meta, 'config', config, 'policy', ARGV[2], 'depth', ARGV[3],
  'quarantine', ARGV[4], 'quarantineMax', ARGV[5], 'action', ARGV[6], 'flaps', ARGV[7],
  'scaleUpDelay', ARGV[8], 'startTime', ARGV[9], 'revision', ARGV[10], 'channel', ARGV[11])
redis.call('PUBLISH', ARGV[12], ARGV[10])
return { 'changed' }
