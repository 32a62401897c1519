--- @include "layout"
--- @include "new-lease"
--- @include "write-request"
-- Takes one slot of a target for a request that waited. The caller writes the target.
local function grant_lease(ctx, uid, target, request_id, ticket)
  local details = ticket[CLASS] and call_of(ticket)
  local class = ticket[CLASS] == 1 and 1 or 0
  local request = { id = request_id, holder = ticket[HOLDER], arrived_at = ticket[ARRIVED_AT] }
  local lease, work = new_lease(ctx, uid, target, request, details, class)
  count_lease(ctx, request_id, lease, target, work, ticket[TOKENS])
  write_request(ctx, request_id, lease)
  return lease
end
