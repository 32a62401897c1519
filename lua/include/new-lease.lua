--- @include "layout"
--- @include "free-slots"
--- @include "call-details"
--- @include "warm-of"
--- @include "owned-member"
-- Index of the leases that were given a place in a local queue, by the instant at which they should
-- start: the last of them gains most by moving to an idle pod.
local function placed_member(starts_at, request_id)
  return 'w\1' .. pack_struct('>d', starts_at) .. request_id
end

-- When a call that is given a place should start.
local function expected_start(ctx, target)
  if ctx[POLICY] == SPEED_AWARE then return ctx[NOW] + (target[WORK] or 0) end
  return ctx[NOW] + (1 - run_slots(target)) * SECOND
end

-- A lease of a slot or place on a target, and its work there. `details` of a call that has some, with
-- its class. Changes nothing yet.
local function new_lease(ctx, uid, target, request, details, class)
  local lease = { LEASE, request.holder, request.arrived_at, uid, ctx[NOW], 0 }
  local is_weighed = ctx[POLICY] == SPEED_AWARE
  local is_placed = ctx[PLACES] > 0 and run_slots(target) <= 0
  if not (details or is_weighed or is_placed) then return lease, 0 end
  local works = works_for(details, uid)
  local work = work_on(ctx, works, target)
  lease[LEASE_WORK], lease[LEASE_CLASS], lease[LEASE_KEY], lease[STARTS_AT] = work, NO_ORDER, 0, 0
  if details and ctx[ORDER] ~= FIFO then
    local solo = is_weighed and solo_time(works, profile_of(ctx, target)) or 0
    lease[LEASE_CLASS], lease[LEASE_KEY] = class, key_of(ctx, details, class, solo)
  end
  if is_placed then lease[STARTS_AT] = expected_start(ctx, target) end
  -- The published rule never takes work off again.
  if is_weighed and read_speed(ctx).rule == 'repo' then lease[LEASE_WORK] = 0 end
  return lease, work
end

-- Counts a new lease on its target. The caller writes the target.
local function count_lease(ctx, request_id, lease, target, work, tokens)
  target[IN_FLIGHT] = target[IN_FLIGHT] + 1
  ctx[BUSY] = ctx[BUSY] + 1
  if not lease[LEASE_WORK] then return end
  target[WORK] = (target[WORK] or 0) + work
  local room = target[KV_FREE]
  if room and tokens then target[KV_FREE] = math.max(0, room - tokens) end
  if lease[STARTS_AT] > 0 then
    call('ZADD', ctx[KEY_LIST][OWNED], 0, placed_member(lease[STARTS_AT], request_id))
  end
end
