--- @include "begin"
--- @include "acquire"
--- @include "acquire-row"
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
-- Reply: one text of lines, cheaper to read than a list: ok, time of the batch, then for each acquire,
--   one behind the other, `uid address` of a plain lease that begins and arrived then, else what
--   acquire-lease answers, a value a line | unknown-revision
-- Cost: O(steps * log n) for n targets or tickets, at most 16 steps
-- Caller: activator, in place of single calls when several are due
local now, activator_id = ARGV[1], ARGV[2]

-- Whole and in full, as the server itself would send a number.
local function as_text(value)
  return type(value) == 'number' and string.format('%d', value) or value
end

local ctx = begin(KEYS, now)
if not ctx then return 'unknown-revision' end
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
local reply = { 'ok', as_text(ctx[NOW]) }
at = 3
while at < #ARGV do
  local step, id = ARGV[at], ARGV[at + 1]
  local taken = step == 'acquire' and acquire_row(ctx, ARGV, at, reply) or 0
  ctx[BUDGET_LEFT] = MOST_TICKETS
  if taken > 0 then
    at = at + 3 * taken
  elseif step == 'acquire' or step == 'acquire-more' then
    local request = { id = id, holder = activator_id, random = ARGV[at + 2], exclude = '',
      may_wait = true, details = '' }
    if step == 'acquire-more' then
      local arrived_at = ARGV[at + 3]
      request.known_arrival = arrived_at ~= '0' and tonumber(arrived_at)
      request.may_wait, request.exclude = ARGV[at + 4] == '1', ARGV[at + 5]
      request.details, at = ARGV[at + 6], at + 4
    end
    local length, answer = #reply, acquire(ctx, request)
    for k = 1, #answer do reply[length + k] = as_text(answer[k]) end
    ctx[AHEAD], at = ctx[AHEAD] - 1, at + 3
  else
    release(ctx, id, step)
    at = at + 2
  end
end
store_run(ctx)
return table.concat(reply, '\n')
