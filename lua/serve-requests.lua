--- @include "begin"
--- @include "acquire"
--- @include "acquire-plain"
--- @include "release"
--- @include "run"
-- Acquires and releases of one activator, collected in one turn of its event loop, in their order.
-- A step is `acquire` leaseId random, `acquire-more` leaseId random arrivedAt mayWait exclude call, or
-- an outcome and leaseId to release; each as in the script of its name.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   now          us, 0 for the server's time
--   activatorId  text
--   steps        repeated, at most 16
-- Reply: ok, time of the batch, then for each acquire, one behind the other, `uid address` of a plain
--   lease that begins and arrived then, else what acquire-lease answers | unknown-revision
-- Cost: O(steps * log n) for n targets or tickets, at most 16 steps
-- Caller: activator, in place of single calls when several are due
local now, activator_id = ARGV[1], ARGV[2]

local ctx = begin(KEYS, now)
if not ctx then return { 'unknown-revision' } end
ctx[IS_BATCH], ctx[AHEAD], ctx[NEW_LEASES] = true, 0, {}
-- All requests are read at once, and the index is read ahead for the acquires to come.
local ids, at = {}, 3
while at < #ARGV do
  ids[#ids + 1] = ARGV[at + 1]
  local step = ARGV[at]
  if step == 'acquire' then
    ctx[AHEAD], at = ctx[AHEAD] + 1, at + 3
  elseif step == 'acquire-more' then
    ctx[AHEAD], at = ctx[AHEAD] + 1, at + 7
  else
    at = at + 2
  end
end
fetch_requests(ctx, ids)
local reply, length = { 'ok', ctx[NOW] }, 2
at = 3
for i = 1, #ids do
  local id, step = ids[i], ARGV[at]
  ctx[BUDGET_LEFT] = MOST_TICKETS
  if step == 'acquire' or step == 'acquire-more' then
    local random, uid, target = ARGV[at + 2], nil, nil
    if step == 'acquire' then uid, target = acquire_plain(ctx, id, activator_id, random) end
    if uid then
      length, at = length + 1, at + 3
      reply[length] = uid .. ' ' .. target[ADDRESS]
    else
      local request = { id = id, holder = activator_id, random = random, exclude = '',
        may_wait = true, details = '' }
      if step == 'acquire-more' then
        local arrived_at = ARGV[at + 3]
        request.known_arrival = arrived_at ~= '0' and tonumber(arrived_at)
        request.may_wait, request.exclude = ARGV[at + 4] == '1', ARGV[at + 5]
        request.details, at = ARGV[at + 6], at + 4
      end
      local answer = acquire(ctx, request)
      for k = 1, #answer do reply[length + k] = answer[k] end
      length, at = length + #answer, at + 3
    end
    ctx[AHEAD] = ctx[AHEAD] - 1
  else
    release(ctx, id, step)
    at = at + 2
  end
end
store_run(ctx)
return reply
