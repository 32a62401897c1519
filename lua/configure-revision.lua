--- @include "layout"
--- @include "begin"
--- @include "run"
--- @include "fill-index"
--- @include "rekey-tickets"
--- @include "serve-free"
-- Stores the configuration of a revision and says so when it changed. A policy is in force with the
-- next choice, or with the last of several calls when the targets must be put in another order; an
-- order of the queue with the next request, and for those that wait page by page.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers samples
-- Args:
--   config       JSON, as read back
--   policy       load-balancing policy
--   depth        most waiting requests
--   quarantine   us, first period
--   quarantineMax us
--   action       replace or drop
--   flaps        changes within a minute that count as flapping
--   scaleUpDelay us
--   startTime    ms, median
--   revision     namespace/name
--   channel      prefix of the activators' channels
--   wake         channel that wakes the autoscaler
--   configs      channel of configuration changes
--   order        of the waiting requests
--   limit        us, longest wait before a request goes first; 0 for none
--   places       per target beyond its slots, of early binding; 0 when late
--   alpha        weight of speed in `speed-aware`
--   rule         wb, ect or repo
--   now          us, 0 for the server's time
-- Reply: changed | same, then more (1 when it must be called again)
-- Cost: O(log n) for each of at most 64 targets and 64 tickets
-- Caller: autoscaler at each change and resync, activator after a loss of the store
local meta, config, policy, revision, configs, given =
  KEYS[META], ARGV[1], ARGV[2], ARGV[10], ARGV[13], ARGV[19]
local order, limit, places = ORDERS[ARGV[14]] or FIFO, tonumber(ARGV[15]), tonumber(ARGV[16])

local ctx = begin(KEYS, given)
if ctx then mark_layout(ctx) end
local is_same = redis.call('HGET', meta, 'config') == config
if ctx and is_same and ctx[FILLING] == 0 and not ctx.rekey then return { 'same', 0 } end
if not ctx then
  local now = time_of(given)
  -- What another layout has left is no use to anybody; pods and activators tell it all again.
  redis.call('UNLINK', unpack(KEYS))
  is_same = false
  ctx = new_step(KEYS, pack_struct(RUN_FORMAT, now, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, ''))
  redis.call('HSET', meta, 'since', now)
  mark_layout(ctx)
end
redis.call('HSET', meta, 'limit', limit)
ctx.limit = limit
if order ~= ctx[ORDER] then
  ctx[ORDER] = order
  if ctx[WAITING] > 0 or order ~= FIFO then begin_rekey(ctx) end
end
rekey_tickets(ctx)
apply_policy(ctx, POLICIES[policy] or ctx[POLICY], places)
if ctx[FILLING] == 0 and places > 0 then serve_free(ctx, MOST_FILLED) end
store_run(ctx)
local more = (ctx[FILLING] > 0 or ctx.rekey) and 1 or 0
if is_same then return { 'same', more } end
redis.call('HSET', meta, 'config', config, 'depth', ARGV[3], 'quarantine', ARGV[4],
  'quarantineMax', ARGV[5], 'action', ARGV[6], 'flaps', ARGV[7], 'scaleUpDelay', ARGV[8],
  'startTime', ARGV[9], 'revision', revision, 'channel', ARGV[11], 'wake', ARGV[12],
  'alpha', ARGV[17], 'rule', ARGV[18])
redis.call('PUBLISH', configs, revision)
return { 'changed', more }
