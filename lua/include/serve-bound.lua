--- @include "layout"
--- @include "serve-range"
-- Offers a slot to the calls that may run on this target alone. Before the others only to one that came
-- before all of them, so that nobody starves; else when none of the others may use it.
local function serve_bound(ctx, uid, target, unfit, is_last)
  local prefix = bound_prefix(uid)
  local member = members_from(ctx, prefix, 0, 1)[1]
  if not member then return false end
  local eldest = not is_last and members_from(ctx, 'a', 0, 1)[1]
  if eldest and string.sub(eldest, 2, 13) < string.sub(member, #prefix + 1, #prefix + 12) then
    return false
  end
  return serve_range(ctx, uid, target, prefix, unfit)
end
