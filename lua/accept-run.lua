--- @include "runs-change"
-- Stores an asynchronous run with its request, and gives it to the activator that took it in.
-- The same request sent twice is one run.
-- Keys: run-counts run-requests run-states run-payloads run-secrets run-accepted run-owned run-owners run-due
-- Args:
--   now         us, 0 for the server's time
--   owner       activator
--   id          run id
--   mark        digest of method, target and body
--   request     JSON, kept until the run is forgotten
--   payload     body of the request
--   secrets     JSON, kept until the run and its delivery are over
--   limit       ms from now within which it must start
--   repeatable  1 when it may run again although a container saw it
--   mostOpen    runs of the service that may be unfinished
--   mostBytes   bytes of bodies and answers that are kept for the service
-- Reply: accepted acceptedAt | known acceptedAt | taken | full
-- Cost: O(log n) for n runs
-- Caller: activator
local now, owner, id, mark, request, payload, secrets, limit, repeatable, most_open, most_bytes =
  unpack(ARGV)

local known = read_run(KEYS, id)
if known then
  if known.mark ~= mark then return { 'taken' } end
  return { 'known', tostring(known.acceptedAt) }
end
local open, bytes = unpack(redis.call('HMGET', KEYS[RUN_COUNTS], 'open', 'bytes'))
if tonumber(open or 0) >= tonumber(most_open) then return { 'full' } end
if tonumber(bytes or 0) + #payload > tonumber(most_bytes) then return { 'full' } end

local at = run_time(now)
local run = {
  state = 'queued', owner = '', mark = mark, acceptedAt = at, startedAt = 0, endedAt = 0,
  status = 0, attempts = 0, delivery = 'none', deliveries = 0, bytes = 0, answer = '',
  limitMs = tonumber(limit), repeatable = repeatable == '1',
}
redis.call('HINCRBY', KEYS[RUN_COUNTS], 'open', 1)
redis.call('HSET', KEYS[RUN_REQUESTS], id, request)
keep_payload(KEYS, id, run, payload)
redis.call('HSET', KEYS[RUN_SECRETS], id, secrets)
redis.call('ZADD', KEYS[RUN_ACCEPTED], at, id)
redis.call('ZADD', KEYS[RUN_OWNERS], at + 3000, owner)
give_run(KEYS, id, run, owner)
write_run(KEYS, id, run)
return { 'accepted', tostring(at) }
