--- @include "layout"
--- @include "bury-target"
--- @include "owned-member"
-- Deletes a target that never recovered; its pod is replaced unless the service says otherwise.
local function evict_target(ctx, uid, target, details)
  bury_target(ctx, uid, target, details, 'evicted')
  if redis.call('HGET', ctx[KEY_LIST][META], 'action') ~= 'replace' then return false end
  redis.call('ZADD', ctx[KEY_LIST][OWNED], 0, owned_member('e', '', uid))
  return true
end
