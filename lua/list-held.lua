--- @include "fence"
-- One page of the leases and tickets that the store keeps for an activator, lapsed leases left out.
-- Keys: meta requests
-- Args:
--   activatorId  text
--   cursor       of HSCAN, 0 at first
-- Reply: ok, next cursor (0 at the end), then the ids found on this page
-- Cost: O(page), about 256 requests of the revision
-- Caller: activator, to compare with what it knows
local meta, requests, activator_id, cursor = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
fence(meta)
local page = redis.call('HSCAN', requests, cursor, 'COUNT', 256)
local reply = { 'ok', page[1] }
for i = 1, #page[2], 2 do
  local request = { struct.unpack(REQUEST_FORMAT, page[2][i + 1]) }
  local is_held = request[HOLDER] == activator_id and request[LAPSED_LEASE] == 0
  if is_held then reply[#reply + 1] = page[2][i] end
end
return reply
