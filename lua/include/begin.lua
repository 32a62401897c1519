--- @include "layout"
--- @include "new-step"
--- @include "fence"
-- What a revision that orders, binds early or shares among tenants carries along.
local function read_tail(ctx, run)
  local ranked, shared, rekey
  ctx[ORDER], ctx.share, ctx.limit, ctx[PLACES], ctx.next_places, ranked, shared, rekey, ctx.virtual =
    unpack_struct(RUN_TAIL, run, ctx[TAIL_AT])
  ctx[IS_RANKED], ctx.shared, ctx.rekey = ranked == 1, shared == 1, rekey == 1
end

-- Opens a step of one revision: reads its figures, moves its clocks, and adds what ran since the
-- last step to the concurrency integral. Nil when the revision has no configuration.
-- Time never goes back: a promoted replica may be behind.
local function begin(keys, given)
  if not call then name_globals() end
  local now = time_of(given)
  local run = call('HGET', keys[META], RUN_FIELD)
  if not run then return fence(keys[META], now) end
  local ctx = new_step(keys, run)
  local at, flags = ctx[NOW], ctx[FLAGS]
  if now < at then now = at end
  local gap = now - at
  ctx[NOW] = now
  -- The lease clock counts at most a second per step, so a stalled store ends nobody's lease.
  ctx[CLOCK] = ctx[CLOCK] + (gap < SECOND and gap or SECOND)
  if gap > LONGEST_GAP then ctx[HOLD] = now + LEASE_TIME end
  ctx[INTEGRAL] = ctx[INTEGRAL] + gap * (ctx[WAITING] + ctx[BUSY])
  if flags > 0 then
    ctx[EVENTS_ON] = flags % 2 == 1
    if flags % 4 > 1 then ctx[INDEX] = INDEX_B end
    if flags % 8 > 3 then read_tail(ctx, run) end
    ctx[IS_SINGLE] = flags > 7
  end
  return ctx
end
