--- @include "begin"
--- @include "acquire"
--- @include "release"
--- @include "run"
-- Acquires and releases of one activator, collected in one turn of its event loop, in their order.
-- A step is `acquire` leaseId random, `acquire-more` leaseId random arrivedAt mayWait exclude, or an
-- outcome and leaseId to release; each as in the script of its name.
-- Keys: meta targets free load requests owned queue activators events details timers
-- Args:
--   now          us, 0 for the server's time
--   activatorId  text
--   steps        repeated, at most 16
-- Reply: ok, then for each acquire what acquire-lease answers, one behind the other
--   | unknown-revision
-- Cost: O(steps * log n) for n targets or tickets, at most 16 steps
-- Caller: activator, in place of single calls when several are due
local now, activator_id, next_step = ARGV[1], ARGV[2], 3

local ctx = begin(KEYS, now)
if not ctx then return { 'unknown-revision' } end
ctx.is_batch = true
local reply = { 'ok' }
while next_step < #ARGV do
  local step, id = ARGV[next_step], ARGV[next_step + 1]
  ctx.budget = MOST_TICKETS
  if step == 'acquire' or step == 'acquire-more' then
    local _, _, random, arrived_at, may_wait, exclude = unpack(ARGV, next_step, next_step + 5)
    local is_plain = step == 'acquire'
    local answer = acquire(ctx, {
      id = id, holder = activator_id, random = random, exclude = is_plain and '' or exclude,
      may_wait = is_plain or may_wait == '1',
      arrived_at = not is_plain and arrived_at ~= '0' and tonumber(arrived_at),
    })
    for _, value in ipairs(answer) do reply[#reply + 1] = value end
    next_step = next_step + (is_plain and 3 or 6)
  else
    release(ctx, id, step)
    next_step = next_step + 2
  end
end
ctx.is_batch = false
store_run(ctx)
return reply
