--- @include "runs-takeover"
-- The beat of an activator for the runs of one service: renews its hold on its own, frees those of
-- activators that are gone, takes what is due, and forgets what was kept long enough.
-- Keys: run-counts run-requests run-states run-payloads run-secrets run-accepted run-owned run-owners run-due
-- Args:
--   now    us, 0 for the server's time
--   owner  activator
--   most   runs to take at most, 0 while it stops
--   kept   ms for which the state of an ended run can be read
-- Reply: ok runsKept runsOpen, then id state request of each run that was taken
-- Cost: O(k * log n) for n runs, of which k <= 160 are looked at
-- Caller: activator, each second while the service has runs
local now, owner, most, kept = unpack(ARGV)
local MOST_DUE = 32
local at, kept_ms = run_time(now), tonumber(kept)

redis.call('ZADD', KEYS[RUN_OWNERS], at + RUN_LEASE_MS, owner)
if may_take(KEYS, at) then take_over(KEYS, at, kept_ms) end

local taken = {}
local due = redis.call('ZRANGEBYSCORE', KEYS[RUN_DUE], 0, at, 'LIMIT', 0, MOST_DUE)
for _, id in ipairs(due) do
  local run = read_run(KEYS, id)
  if not run then
    redis.call('ZREM', KEYS[RUN_DUE], id)
  elseif run.endedAt > 0 and run.delivery ~= 'pending' then
    forget_run(KEYS, id, run)
  elseif run.endedAt == 0 and at > run.acceptedAt + run.limitMs then
    keep_payload(KEYS, id, run, '')
    end_run(KEYS, run, 'expired', 0, at)
    close_run(KEYS, id, run, at + kept_ms)
    write_run(KEYS, id, run)
  elseif #taken / 3 < tonumber(most) then
    give_run(KEYS, id, run, owner)
    write_run(KEYS, id, run)
    taken[#taken + 1] = id
    taken[#taken + 1] = cjson.encode(run)
    taken[#taken + 1] = redis.call('HGET', KEYS[RUN_REQUESTS], id) or ''
  end
end
local runs = redis.call('ZCARD', KEYS[RUN_ACCEPTED])
local open = tonumber(redis.call('HGET', KEYS[RUN_COUNTS], 'open') or 0)
-- Of a service without runs nothing stays.
if runs == 0 then redis.call('DEL', KEYS[RUN_COUNTS], KEYS[RUN_OWNERS]) end
return { 'ok', runs, open, unpack(taken) }
