--- @include "layout"
--- @include "list-owned"
-- Lapsed leases of a target that its pod is asked about.
local function ask_list(ctx, uid, target)
  if target[LAPSED] == 0 then return {} end
  return list_owned(ctx, 'l', uid, MOST_ASKED)
end
