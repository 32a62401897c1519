--- @include "layout"
--- @include "read-target"
--- @include "settle-target"
--- @include "rekey-tickets"
--- @include "enter-queue"
--- @include "serve-free"
--- @include "reap-activators"
--- @include "run-timer"
-- The counts that steps carry along, taken anew in case a part of the state was lost.
local function count_requests(ctx)
  ctx[WAITING] = count_of_prefix(ctx, 'a') + count_of_prefix(ctx, 'b')
  ctx[BUSY] = redis.call('HLEN', ctx[KEY_LIST][REQUESTS]) - ctx[WAITING]
end

-- Does what is due: lapsed activators, timers, slots that stayed free beside a queue. Bounded;
-- `ctx[MORE]` says that another call has work. `may_probe`: the caller carries out what is found.
local function sweep(ctx, may_probe)
  local found = { probes = {}, evicted = {}, may_probe = may_probe }
  count_requests(ctx)
  reap_activators(ctx)
  local due = redis.call('ZRANGEBYSCORE', ctx[KEY_LIST][TIMERS], '-inf', ctx[NOW], 'LIMIT', 0, MOST_TIMERS)
  for _, member in ipairs(due) do
    run_timer(ctx, string.sub(member, 1, 1), string.sub(member, 2), found)
  end
  if #due == MOST_TIMERS and may_probe then ctx[MORE] = true end
  rekey_tickets(ctx)
  serve_free(ctx, 1)
  return found
end
