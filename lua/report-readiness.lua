--- @include "begin"
--- @include "commit"
--- @include "read-target"
--- @include "details"
--- @include "new-target"
--- @include "revive-target"
--- @include "apply-report"
--- @include "settle-target"
--- @include "bury-target"
--- @include "ask-list"
--- @include "answer-ask"
--- @include "reply-report"
--- @include "heartbeat-period"
--- @include "profiles"
--- @include "right-work"
-- Stores what a sidecar says of its pod, if it is newer than what is stored, and gives slots that
-- became free to who waits.
-- Keys: meta targets index-a index-b requests owned queue activators events details timers
-- Args:
--   uid        text, of the pod
--   boot       number of this life of the sidecar
--   sequence   number within this life
--   state      starting, ready, unready, draining, or goodbye
--   reason     text
--   address    ip:port of the sidecar
--   capacity   slots, 0 for no limit
--   inFlight   requests that the sidecar has open
--   occupied   slots busy although their caller left
--   confirms   1 when the container reports its running number, else 0
--   podName    text
--   build      text
--   card       text
--   marks      JSON object of start instants
--   asked      lease ids that the last reply asked about, separated by spaces
--   running    those of them that still run, separated by spaces
--   kvFree     tokens, empty where not known
--   now        us, 0 for the server's time
-- Reply: accepted | stale | buried, then state boot sequence idle targets more, then leases to ask
--   about | unknown-revision
-- Cost: O(log n) for n targets or tickets, and for each slot handed over (at most 64)
-- Caller: activator, for each push that is not a heartbeat
-- Records hold counts in 32 bits.
local function count_of(text) return math.min(tonumber(text), HELD_ALL - 1) end

local uid, boot, sequence, reported = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

local ctx = begin(KEYS, ARGV[18])
if not ctx then return { 'unknown-revision' } end
local target = read_target(ctx, uid)
local is_first = not target
if target then
  local newer = boot > target[BOOT] or (boot == target[BOOT] and sequence > target[SEQUENCE])
  if target[STATE] == 'deleted' then
    if not REVIVABLE[target[CAUSE]] then return reply_report(ctx, 'buried', uid, target) end
    if not newer then return reply_report(ctx, 'stale', uid, target) end
    revive_target(ctx, uid, target)
    is_first = true
  elseif not newer then
    local again = boot == target[BOOT] and sequence == target[SEQUENCE]
    return reply_report(ctx, again and 'accepted' or 'stale', uid, target)
  end
else
  target = new_target()
end

local details = read_details(ctx, uid)
target[BOOT], target[SEQUENCE], target[ADDRESS] = boot, sequence, ARGV[6]
target[CAPACITY], target[OCCUPIED], target[CONFIRMS] =
  count_of(ARGV[7]), count_of(ARGV[9]), tonumber(ARGV[10])
target[REPORTED_AT] = now_ms(ctx)
-- A pod unknown until now may run requests whose leases are yet to be put back.
target[HELD] = is_first and math.max(0, count_of(ARGV[8]) - target[IN_FLIGHT]) or 0
details[POD_NAME], details[BUILD], details[MARKS] = ARGV[11], ARGV[12], ARGV[14]
if ARGV[13] ~= '' then details[CARD] = ARGV[13] end
target[KV_FREE] = tonumber(ARGV[17])
know_profile(ctx, target, details[CARD])
answer_ask(ctx, uid, target, ARGV[15], ARGV[16])
right_work(ctx, target)

if reported == 'goodbye' then
  bury_target(ctx, uid, target, details, 'goodbye')
else
  redis.call('ZADD', KEYS[TIMERS], ctx[NOW] + 3 * heartbeat_period(ctx), 'h' .. uid)
  apply_report(ctx, uid, target, details, reported, ARGV[5])
  settle_target(ctx, uid, target, details)
end
commit(ctx, 'report', uid, ARGV[4], target)
return reply_report(ctx, 'accepted', uid, target)
