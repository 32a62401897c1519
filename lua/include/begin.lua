--- @include "layout"
-- Time of the server in us, or the one given by a test.
local function time_of(given)
  local now = given and tonumber(given) or 0
  if now > 0 then return now end
  local time = redis.call('TIME')
  return time[1] * SECOND + time[2]
end

-- Opens a step of one revision: reads its figures, moves its clocks, and adds what ran since the
-- last step to the concurrency integral. Nil when the revision has no configuration.
-- Time never goes back: a promoted replica may be behind.
local function begin(keys, given)
  local run = redis.call('HGET', keys[META], 'run')
  if not run then return nil end
  local at, clock, hold, integral, arrivals, cursor, waiting, busy, policy, filling,
    events =
    struct.unpack(RUN_FORMAT, run)
  local now = time_of(given)
  if now < at then now = at end
  local gap = now - at
  -- The lease clock counts at most a second per step, so a stalled store ends nobody's lease.
  clock = clock + (gap < SECOND and gap or SECOND)
  if gap > LONGEST_GAP then hold = now + LEASE_TIME end
  return {
    keys = keys, now = now, clock = clock, hold = hold, waiting = waiting, busy = busy,
    policy = policy, filling = filling, integral = integral + gap * (waiting + busy), arrivals = arrivals,
    cursor = cursor, events = events == 1, budget = MOST_TICKETS, more = false, alive = {},
  }
end
