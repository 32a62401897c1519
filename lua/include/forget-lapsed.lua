--- @include "layout"
--- @include "list-owned"
--- @include "read-request"
--- @include "forget-lease"
-- Ends lapsed leases of a pod that is gone, a bounded number per call; a timer goes on with the rest.
local function forget_lapsed(ctx, uid, target)
  if target[LAPSED] == 0 then return end
  for _, request_id in ipairs(list_owned(ctx, 'l', uid, MOST_OWNED)) do
    forget_lease(ctx, request_id, read_request(ctx, request_id), target)
  end
  if target[LAPSED] > 0 then redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[NOW], 'l' .. uid) end
end
