--- @include "begin"
--- @include "acquire"
--- @include "acquire-plain"
--- @include "run"
-- Chooses a target and leases one slot on it in one step, or puts the request in the shared queue.
-- Keys: meta targets index-a index-b requests owned queue activators events
-- Args:
--   leaseId      text, chosen by the activator; the same id again gets the same answer
--   activatorId  text
--   random       two numbers in [0, 1), separated by a space
--   arrivedAt    us, of an earlier reply for this request, which keeps its place; 0 at first
--   mayWait      1 to wait for a slot, 0 to take a free one or nothing
--   exclude      uids, separated by spaces
--   call         of a ranked or weighed call, as include/call-details reads it, else empty
--   now          us, 0 for the server's time
-- The last five may be left out together: a plain first attempt that may wait and excludes nothing.
-- Reply: leased uid address arrivedAt grantedAt | ranked, the same, class key work
--   | waiting arrivedAt readyTargets waiting | no-slot | queue-full retryAfterMs
--   | deadline-unreachable | session-lost | unknown-revision
-- Cost: O(log n) for n targets or tickets, times excluded targets; O(profiles) for `speed-aware`
-- Caller: activator, once per request and reroute
local id, holder, random, arrived_at, may_wait, exclude, details, now = unpack(ARGV)

local ctx = begin(KEYS, now)
if not ctx then return { 'unknown-revision' } end
if not arrived_at then
  local uid, target = acquire_plain(ctx, id, holder, random)
  if uid then
    store_run(ctx)
    return { 'leased', uid, target[ADDRESS], ctx[NOW], ctx[NOW] }
  end
end
return acquire(ctx, {
  id = id, holder = holder, random = random, exclude = exclude or '', may_wait = may_wait ~= '0',
  known_arrival = arrived_at and arrived_at ~= '0' and tonumber(arrived_at), details = details or '',
})
