--- @include "layout"
--- @include "list-owned"
--- @include "owned-member"
-- Targets that were evicted and whose pods are to be replaced; each is named once to who takes it.
local function take_evicted(ctx, take)
  local uids = list_owned(ctx, 'e', '', MOST_OWNED)
  if take then
    for _, uid in ipairs(uids) do
      redis.call('ZREM', ctx[KEY_LIST][OWNED], owned_member('e', '', uid))
    end
  end
  return uids
end
