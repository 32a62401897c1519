--- @include "begin"
--- @include "commit"
--- @include "choose-target"
--- @include "exclude-set"
--- @include "read-request"
--- @include "add-request"
--- @include "reply-request"
--- @include "write-target"
--- @include "retry-after"
-- Puts a request in the shared queue, and wakes the autoscaler for the first one and for one that
-- finds no pod ready. A request that comes with a time of arrival keeps its place.
local function enqueue(ctx, request)
  local arrived_at = request.arrived_at
  if not arrived_at then
    if ctx.waiting >= tonumber(redis.call('HGET', ctx.keys[META], 'depth')) then
      return { 'queue-full', retry_after(ctx) }
    end
    arrived_at, ctx.arrivals = ctx.now, ctx.arrivals + 1
  end
  add_request(ctx, request, 'ticket', arrived_at, request.exclude)
  redis.call('ZADD', ctx.keys[QUEUE], arrived_at, request.id)
  ctx.waiting = ctx.waiting + 1
  commit(ctx, 'wait', '', request.id)
  local reply = reply_waiting(ctx, arrived_at)
  if reply[3] == 0 or ctx.waiting == 1 then
    redis.call('PUBLISH', unpack(redis.call('HMGET', ctx.keys[META], 'wake', 'revision')))
  end
  return reply
end

-- Takes one slot on the target that the policy names, or a place in the queue.
-- `request`: id, holder, random, exclude, may_wait, and arrived_at of one that was here before.
local function acquire(ctx, request)
  local uid, target = choose_target(ctx, exclude_set(request.exclude), request.random)
  if not uid then
    local known = read_request(ctx, request.id)
    if known then return reply_request(ctx, known) end
    if not request.may_wait then return { 'no-slot' } end
    return enqueue(ctx, request)
  end
  local arrived_at = request.arrived_at or ctx.now
  if not add_request(ctx, request, 'lease', arrived_at, uid) then
    return reply_request(ctx, read_request(ctx, request.id))
  end
  target = target or read_target(ctx, uid)
  target[IN_FLIGHT] = target[IN_FLIGHT] + 1
  ctx.busy = ctx.busy + 1
  if not request.arrived_at then ctx.arrivals = ctx.arrivals + 1 end
  if ctx.policy == ROUND_ROBIN then ctx.cursor = target[ADMISSION] end
  write_target(ctx, uid, target, true)
  commit(ctx, 'acquire', uid, request.id, target)
  return { 'leased', uid, target[ADDRESS], arrived_at, ctx.now }
end
