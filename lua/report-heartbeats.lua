--- @include "begin"
--- @include "commit"
--- @include "details"
--- @include "recover-target"
--- @include "settle-target"
--- @include "heartbeat-period"
-- Keeps up to 16 targets alive. A heartbeat ends a doubt and the holding back of slots.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   now        us, 0 for the server's time
--   beats      repeated: uid, boot, sequence
-- Reply: uids whose sidecar must push its whole state: unknown here, in another life, or with
--   leases to ask about; preceded by ok and 1 when a sweep has more to hand over
-- Cost: O(beats * log n) for n targets
-- Caller: activator, once per revision and second
local ctx = begin(KEYS, ARGV[1])
if not ctx then return { 'unknown-revision' } end
local uids = {}
for i = 2, #ARGV, 3 do uids[#uids + 1] = ARGV[i] end
local reply = { 'ok', 0 }
if #uids == 0 then return reply end

fetch_targets(ctx, uids)
local beats, deadline = {}, ctx[NOW] + 3 * heartbeat_period(ctx)
for i, uid in ipairs(uids) do
  local boot, sequence = tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
  local target = read_target(ctx, uid)
  if not target or boot > target[BOOT]
    or (REVIVABLE[target[CAUSE]] and boot == target[BOOT] and sequence > target[SEQUENCE]) then
    if not (target and target[STATE] == 'deleted' and not REVIVABLE[target[CAUSE]]) then
      reply[#reply + 1] = uid
    end
  elseif target[STATE] ~= 'deleted' and boot == target[BOOT] and sequence > target[SEQUENCE] then
    target[SEQUENCE], target[REPORTED_AT] = sequence, now_ms(ctx)
    beats[#beats + 1], beats[#beats + 2] = deadline, 'h' .. uid
    if target[LAPSED] > 0 then reply[#reply + 1] = uid end
    if target[STATE] == 'suspected' or target[HELD] > 0 then
      local details = read_details(ctx, uid)
      target[HELD] = 0
      if target[STATE] == 'suspected' then recover_target(ctx, uid, target, details) end
      settle_target(ctx, uid, target, details)
    else
      write_target(ctx, uid, target)
    end
  end
end
if #beats > 0 then redis.call('ZADD', KEYS[TIMERS], unpack(beats)) end
commit(ctx, 'heartbeats')
if ctx[MORE] then reply[2] = 1 end
return reply
