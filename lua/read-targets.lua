--- @include "fence"
-- One page of the targets of a revision.
-- Keys: meta targets details
-- Args:
--   cursor     of HSCAN, 0 at first
--   buried     1 to list tombstones too
-- Reply: next cursor (0 at the end), then for each target a list: uid state admission capacity
--   inFlight idleSince boot sequence address reportedAt podName reason card marks changedAt
--   quarantinedUntil cause work
-- Cost: O(page), about 64 targets
-- Caller: dashboard, autoscaler, full comparison with the pods
local meta, targets, all_details = KEYS[1], KEYS[2], KEYS[3]
fence(meta)
local page = redis.call('HSCAN', targets, ARGV[1], 'COUNT', 64)
local reply = { page[1] }
for i = 1, #page[2], 2 do
  local uid, target = page[2][i], { false, false, false, struct.unpack(TARGET_FORMAT, page[2][i + 1]) }
  local is_buried = target[STATE] == 'deleted'
  if not is_buried or ARGV[2] == '1' then
    local raw = redis.call('HGET', all_details, uid)
    local details = raw and cmsgpack.unpack(raw)
      or { '', '', '', '', '{}', '', 0, 0, 0, 0, 0, 0, 0, '', 0, {} }
    local from = target[REST_AT]
    local work = from <= #page[2][i + 1] and struct.unpack(WORK_FORMAT, page[2][i + 1], from) or 0
    local until_at = target[STATE] == 'quarantined' and math.floor(details[Q_UNTIL] / 1000) or 0
    local is_idle = target[IN_FLIGHT] == 0 and target[ADMISSION] > 0
    reply[#reply + 1] = { uid, target[STATE], target[ADMISSION], target[CAPACITY],
      target[IN_FLIGHT], is_idle and target[IDLE_SINCE] or 0, target[BOOT], target[SEQUENCE],
      target[ADDRESS], target[REPORTED_AT], details[POD_NAME], details[REASON], details[CARD],
      details[MARKS], details[CHANGED_AT], until_at, target[CAUSE], work }
  end
end
return reply
