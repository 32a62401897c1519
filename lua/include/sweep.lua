--- @include "layout"
--- @include "read-target"
--- @include "details"
--- @include "suspect-target"
--- @include "evict-target"
--- @include "settle-target"
--- @include "heartbeat-period"
--- @include "reap-activators"
-- No heartbeat came in time.
local function heartbeat_missed(ctx, uid, target)
  if ctx.now < ctx.hold then
    redis.call('ZADD', ctx.keys[TIMERS], ctx.hold + 3 * heartbeat_period(ctx), 'h' .. uid)
    return
  end
  local details = read_details(ctx, uid)
  if target[STATE] == 'ready' then
    suspect_target(ctx, uid, target, details, 'silent')
    settle_target(ctx, uid, target, details)
  else
    bury_target(ctx, uid, target, details, target[STATE] == 'draining' and 'drained' or 'silent')
  end
end

-- A probe is due: name the target to a caller who probes, or give it up.
local function probe_due(ctx, uid, target, found)
  local details = read_details(ctx, uid)
  if target[STATE] == 'quarantined' then
    local longest = tonumber(redis.call('HGET', ctx.keys[META], 'quarantineMax'))
    if ctx.now - details[Q_SINCE] >= longest then
      if evict_target(ctx, uid, target, details) then found.evicted[#found.evicted + 1] = uid end
      return
    end
  elseif target[STATE] ~= 'suspected' then
    redis.call('ZREM', ctx.keys[TIMERS], 'p' .. uid)
    return
  end
  -- Left due for a caller who probes.
  if not found.may_probe then return end
  found.probes[#found.probes + 1] = { uid, target[ADDRESS], target[STATE] }
  redis.call('ZADD', ctx.keys[TIMERS], ctx.now + SECOND, 'p' .. uid)
end

-- The tombstone's time is over; it stays while somebody's lease is counted on it.
local function tombstone_due(ctx, uid, target)
  forget_lapsed(ctx, uid, target)
  if target[IN_FLIGHT] > 0 then
    redis.call('ZADD', ctx.keys[TIMERS], ctx.now + TOMBSTONE_TIME, 'x' .. uid)
    write_target(ctx, uid, target)
    return
  end
  redis.call('HDEL', ctx.keys[TARGETS], uid)
  redis.call('ZREM', ctx.keys[TIMERS], 'x' .. uid, 'l' .. uid)
  redis.call('ZREM', ctx.keys[OWNED], owned_member('e', '', uid))
end

local function run_timer(ctx, kind, uid, found)
  local target = read_target(ctx, uid)
  if not target then
    redis.call('ZREM', ctx.keys[TIMERS], kind .. uid)
  elseif kind == 'h' then
    heartbeat_missed(ctx, uid, target)
    if target[STATE] == 'suspected' then probe_due(ctx, uid, target, found) end
  elseif kind == 'p' then
    probe_due(ctx, uid, target, found)
  elseif kind == 'x' then
    tombstone_due(ctx, uid, target)
  else
    redis.call('ZREM', ctx.keys[TIMERS], kind .. uid)
    forget_lapsed(ctx, uid, target)
    write_target(ctx, uid, target)
  end
end

-- Does what is due: lapsed activators, timers, slots that stayed free beside a queue. Bounded;
-- `ctx.more` says that another call has work. `may_probe`: the caller carries out what is found.
local function sweep(ctx, may_probe)
  local found = { probes = {}, evicted = {}, may_probe = may_probe }
  reap_activators(ctx)
  local due = redis.call('ZRANGEBYSCORE', ctx.keys[TIMERS], '-inf', ctx.now, 'LIMIT', 0, MOST_TIMERS)
  for _, member in ipairs(due) do
    run_timer(ctx, string.sub(member, 1, 1), string.sub(member, 2), found)
  end
  if #due == MOST_TIMERS and may_probe then ctx.more = true end
  local uid = ctx.waiting > 0 and redis.call('ZRANGE', ctx.keys[FREE], 0, 0)[1]
  if uid then settle_target(ctx, uid, read_target(ctx, uid)) end
  return found
end
