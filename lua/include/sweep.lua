--- @include "layout"
--- @include "read-target"
--- @include "settle-target"
--- @include "place-target"
--- @include "exclude-set"
--- @include "choose-first"
--- @include "reap-activators"
--- @include "run-timer"
-- The counts that steps carry along, taken anew in case a part of the state was lost.
local function count_requests(ctx)
  ctx.waiting = redis.call('ZCARD', ctx.keys[QUEUE])
  ctx.busy = redis.call('HLEN', ctx.keys[REQUESTS]) - ctx.waiting
end

-- Does what is due: lapsed activators, timers, slots that stayed free beside a queue. Bounded;
-- `ctx.more` says that another call has work. `may_probe`: the caller carries out what is found.
local function sweep(ctx, may_probe)
  local found = { probes = {}, evicted = {}, may_probe = may_probe }
  count_requests(ctx)
  reap_activators(ctx)
  local due = redis.call('ZRANGEBYSCORE', ctx.keys[TIMERS], '-inf', ctx.now, 'LIMIT', 0, MOST_TIMERS)
  for _, member in ipairs(due) do
    run_timer(ctx, string.sub(member, 1, 1), string.sub(member, 2), found)
  end
  if #due == MOST_TIMERS and may_probe then ctx.more = true end
  local uid = ctx.waiting > 0 and choose_first(ctx, index_of(ctx.policy), NOTHING)
  if uid then settle_target(ctx, uid, read_target(ctx, uid)) end
  return found
end
