--- @include "layout"
--- @include "choose-target"
--- @include "exclude-set"
--- @include "read-target"
--- @include "add-request"
--- @include "write-target"
--- @include "record-event"
-- Record of a lease without a tail. Those of one holder in one step differ in their target only.
local function plain_lease(ctx, holder, uid)
  if not ctx[LEASE_HEAD] then
    local now = pack_struct('>d', ctx[NOW])
    ctx[LEASE_HEAD], ctx[LEASE_END] = '\1' .. holder .. '\0' .. now, '\0' .. now .. '\0'
  end
  return ctx[LEASE_HEAD] .. uid .. ctx[LEASE_END]
end

-- Takes the slot of a new lease. False when the request is known: nothing has changed then. In a
-- batch, where it was looked up before, the lease is stored with the others.
local function add_plain(ctx, id, holder, uid)
  local record = plain_lease(ctx, holder, uid)
  local leases = ctx[NEW_LEASES]
  if not leases or ctx[RENEWED] ~= holder then return add_request(ctx, id, holder, record) end
  local count = #leases
  leases[count + 1], leases[count + 2], ctx[REQUEST_CACHE][id] = id, record, record
  return true
end

-- The usual case, without what others need: a request that comes for the first time, says nothing of
-- itself, and finds a free slot. Nil when it is another case: nothing has changed then.
local function acquire_plain(ctx, id, holder, random)
  local policy = ctx[POLICY]
  if policy == SPEED_AWARE or ctx[PLACES] > 0 or ctx[REQUEST_CACHE][id] then return nil end
  local uid = ctx[SAME] or choose_target(ctx, random, NOTHING)
  if not uid then return nil end
  local target = read_target(ctx, uid)
  if not add_plain(ctx, id, holder, uid) then return nil end
  target[IN_FLIGHT] = target[IN_FLIGHT] + 1
  ctx[BUSY], ctx[ARRIVALS] = ctx[BUSY] + 1, ctx[ARRIVALS] + 1
  if policy == ROUND_ROBIN then ctx[CURSOR] = target[ADMISSION] end
  if INDEX_KINDS[policy] == BY_LOAD or ctx[FILLING] > 0 or run_slots(target) <= 0 then
    write_target(ctx, uid, target)
  else
    keep_target(ctx, uid, target)
    -- It stands first until a target moves.
    if policy == FIRST_AVAILABLE then ctx[SAME] = uid end
  end
  if ctx[EVENTS_ON] then record_event(ctx, 'acquire', uid, id, target) end
  return uid, target
end
