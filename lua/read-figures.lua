--- @include "begin"
--- @include "commit"
--- @include "sweep"
--- @include "append-sample"
--- @include "take-evicted"
-- Sweeps, and reads the figures of a revision for the autoscaler.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers samples
-- Args:
--   record     1 to append a sample and to take the list of evicted targets, 0 to look only
--   now        us, 0 for the server's time
-- Reply: ok, now, integral (text), arrivals, since, busy, waiting, aged, oldestArrivedAt, targets
--   starting ready unready suspected quarantined draining, more, evicted uids | unknown-revision
-- Cost: O(log n) for each of a bounded number of items
-- Caller: autoscaler, once per revision and tick; dashboard
local record = ARGV[1] == '1'

local ctx = begin(KEYS, ARGV[2])
if not ctx then return { 'unknown-revision' } end
sweep(ctx, false)
commit(ctx, 'figures')
if record then append_sample(ctx) end
local meta = redis.call('HMGET', KEYS[META], 'since', 'scaleUpDelay', 'n:starting', 'n:ready',
  'n:unready', 'n:suspected', 'n:quarantined', 'n:draining')
local counts = {}
for i = 3, 8 do counts[i - 2] = tonumber(meta[i] or 0) end
local aged = ctx[WAITING]
if counts[2] + counts[4] > 0 then
  aged = redis.call('ZLEXCOUNT', KEYS[QUEUE], '[a',
    '(a' .. struct.pack('>d', ctx[NOW] - tonumber(meta[2]) + 1))
end
local oldest = redis.call('ZRANGEBYLEX', KEYS[QUEUE], '[a', '(b', 'LIMIT', 0, 1)[1]
local reply = { 'ok', ctx[NOW], string.format('%.17g', ctx[INTEGRAL]), ctx[ARRIVALS],
  tonumber(meta[1]), ctx[BUSY], ctx[WAITING], aged, oldest and struct.unpack('>d', oldest, 2) or 0 }
for _, count in ipairs(counts) do reply[#reply + 1] = count end
reply[#reply + 1] = ctx[MORE] and 1 or 0
for _, uid in ipairs(take_evicted(ctx, record)) do reply[#reply + 1] = uid end
return reply
