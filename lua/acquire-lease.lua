--- @include "begin"
--- @include "commit"
--- @include "choose-target"
--- @include "exclude-set"
--- @include "read-request"
--- @include "reply-request"
--- @include "write-target"
--- @include "grant-lease"
--- @include "retry-after"
--- @include "owned-member"
-- Chooses a target and leases one slot on it in one step, or puts the request in the shared queue.
-- Keys: meta targets free load requests owned queue activators events
-- Args:
--   leaseId      text, chosen by the activator; the same id again gets the same answer
--   activatorId  text
--   arrivedAt    us, of an earlier reply for this request, which keeps its place; 0 at first
--   mayWait      1 to wait for a slot, 0 to take a free one or nothing
--   exclude      uids, separated by spaces
--   random1      in [0, 1)
--   random2      in [0, 1)
--   wake         channel that wakes the autoscaler
--   now          us, 0 for the server's time
-- Reply: leased uid address arrivedAt grantedAt | waiting arrivedAt readyTargets waiting
--   | no-slot | queue-full retryAfterMs | unknown-revision
-- Cost: O(log n) for n targets or tickets, times the excluded targets
-- Caller: activator, once per request and reroute
local lease_id, activator_id, arrived_at, may_wait = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local exclude_text, random, wake = ARGV[5], { tonumber(ARGV[6]), tonumber(ARGV[7]) }, ARGV[8]

local ctx = begin(KEYS, ARGV[9])
if not ctx then return { 'unknown-revision' } end
local known = read_request(ctx, lease_id)
if known then return reply_request(ctx, lease_id, known) end

local is_new = arrived_at == 0
if is_new then arrived_at = ctx.now end
local uid = choose_target(ctx, exclude_set(exclude_text), random)

if not uid then
  if may_wait == '0' then return { 'no-slot' } end
  if is_new and ctx.waiting >= tonumber(redis.call('HGET', KEYS[META], 'depth')) then
    return { 'queue-full', retry_after(ctx) }
  end
end

if is_new then ctx.arrivals = ctx.arrivals + 1 end
redis.call('ZADD', KEYS[ACTIVATORS], 'GT', ctx.clock + LEASE_TIME, activator_id)
redis.call('ZADD', KEYS[OWNED], 0, owned_member('a', activator_id, lease_id))

if uid then
  local target = read_target(ctx, uid)
  grant_lease(ctx, uid, target, lease_id, { 'ticket', activator_id, arrived_at })
  write_target(ctx, uid, target, true)
  if ctx.policy == 'round-robin' then ctx.cursor = target[ADMISSION] end
  commit(ctx, 'acquire', uid, lease_id, target)
  return { 'leased', uid, target[ADDRESS], arrived_at, ctx.now }
end

local ticket = { 'ticket', activator_id, arrived_at, exclude_text }
redis.call('HSET', KEYS[REQUESTS], lease_id, cmsgpack.pack(ticket))
redis.call('ZADD', KEYS[QUEUE], arrived_at, lease_id)
ctx.waiting = ctx.waiting + 1
commit(ctx, 'wait', '', lease_id)
local reply = reply_request(ctx, lease_id, ticket)
if reply[3] == 0 or ctx.waiting == 1 then
  redis.call('PUBLISH', wake, redis.call('HGET', KEYS[META], 'revision'))
end
return reply
