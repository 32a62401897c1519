--- @include "layout"
--- @include "write-target"
-- Puts a target that took a lease of a row where it stands then.
local function place_leased(ctx, uid, target, is_full)
  keep_target(ctx, uid, target)
  local place = target[PLACE]
  if is_full then
    place = false
  elseif INDEX_KINDS[ctx[POLICY]] == BY_LOAD then
    place = place + LOAD_STEP
  end
  if place ~= target[PLACE] or ctx[FILLING] > 0 then
    move_target(ctx, uid, target, place)
  elseif ctx[POLICY] == FIRST_AVAILABLE then
    ctx[SAME] = uid
  end
end
