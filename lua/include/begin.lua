--- @include "layout"
-- Opens a step of one revision: reads its figures, moves its clocks, and adds what ran since the
-- last step to the concurrency integral. Nil when the revision has no configuration.
-- `given` is a time in us for tests, or 0 for the server's. Time never goes back: a promoted
-- replica may be behind.
local function begin(keys, given)
  local meta = redis.call('HMGET', keys[META], 'policy', 'run', 'events')
  if not meta[1] then return nil end
  local at, clock, hold, integral, arrivals, cursor = struct.unpack(RUN_FORMAT, meta[2])
  local now = tonumber(given)
  if now == 0 then
    local time = redis.call('TIME')
    now = time[1] * SECOND + time[2]
  end
  if now < at then now = at end
  local gap = now - at
  local waiting = redis.call('ZCARD', keys[QUEUE])
  local requests = redis.call('HLEN', keys[REQUESTS])
  -- The lease clock counts at most a second per step, so a stalled store ends nobody's lease.
  clock = clock + math.min(gap, SECOND)
  if gap > LONGEST_GAP then hold = now + LEASE_TIME end
  return {
    keys = keys, now = now, clock = clock, hold = hold, waiting = waiting,
    busy = requests - waiting,
    policy = meta[1],
    integral = integral + gap * requests,
    arrivals = arrivals, cursor = cursor,
    events = meta[3] == '1',
    budget = MOST_TICKETS, more = false, alive = {},
  }
end
