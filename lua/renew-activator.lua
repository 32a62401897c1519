--- @include "begin"
--- @include "commit"
--- @include "sweep"
-- Keeps the leases and tickets of an activator alive for 3 s, and sweeps.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   activatorId  text
--   runId        of the server, as the caller's connection knows it
--   now          us, 0 for the server's time
-- Reply: ok, more (1 when another call has work), number of probes, then uid address state of each
--   probe that the caller must make now, then the uids evicted | unknown-revision
-- Cost: O(log n) for each of a bounded number of items
-- Caller: activator, each second for each revision in which it holds something
local activator_id, run_id = ARGV[1], ARGV[2]

local ctx = begin(KEYS, ARGV[3])
if not ctx then return { 'unknown-revision' } end
local known_run = redis.call('HGET', KEYS[META], 'runId')
if run_id ~= '' and known_run ~= run_id then
  redis.call('HSET', KEYS[META], 'runId', run_id)
  -- Another server than the last one: renewals may have been lost on the way to it.
  if known_run then ctx[HOLD] = ctx[NOW] + LEASE_TIME end
end
redis.call('ZADD', KEYS[ACTIVATORS], ctx[CLOCK] + LEASE_TIME, activator_id)
mark_layout(ctx)
local found = sweep(ctx, true)
commit(ctx, 'renew', '', activator_id)
local reply = { 'ok', ctx[MORE] and 1 or 0, #found.probes }
for _, probe in ipairs(found.probes) do
  for _, part in ipairs(probe) do reply[#reply + 1] = part end
end
for _, uid in ipairs(found.evicted) do reply[#reply + 1] = uid end
return reply
