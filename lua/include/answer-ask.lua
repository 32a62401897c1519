--- @include "layout"
--- @include "exclude-set"
--- @include "read-request"
--- @include "forget-lease"
-- Ends those lapsed leases that the pod was asked about and that it does not run any more. A lease
-- whose holder came back meanwhile is not lapsed, and stays. The caller writes the target.
local function answer_ask(ctx, uid, target, asked, running)
  if asked == '' then return end
  local still = exclude_set(running)
  for request_id in string.gmatch(asked, '%S+') do
    local lease = not still[request_id] and read_request(ctx, request_id)
    if lease and lease[LAPSED_LEASE] == 1 and lease[UID] == uid then
      forget_lease(ctx, request_id, lease, target)
    end
  end
end
