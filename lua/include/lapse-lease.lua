--- @include "layout"
--- @include "owned-member"
--- @include "write-request"
-- Marks a lease whose end only the pod can confirm. The slot stays taken; the pod is asked with its
-- next push. The caller writes the target.
local function lapse_lease(ctx, request_id, lease, target)
  if lease[LAPSED_LEASE] == 1 then return end
  lease[LAPSED_LEASE] = 1
  write_request(ctx, request_id, lease)
  redis.call('ZADD', ctx[KEY_LIST][OWNED], 0, owned_member('l', lease[UID], request_id))
  target[LAPSED] = target[LAPSED] + 1
end
