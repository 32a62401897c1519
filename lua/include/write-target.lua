--- @include "layout"
--- @include "place-target"
-- Keeps a target to be stored when the step ends.
local function keep_target(ctx, uid, target)
  if target[IS_CHANGED] then return end
  local changed = ctx[CHANGED] or {}
  ctx[CHANGED], ctx[TARGET_CACHE][uid] = changed, target
  changed[#changed + 1], target[IS_CHANGED] = uid, true
end

-- Keeps it to be placed where it stands now.
local function move_target(ctx, uid, target, place)
  target[PLACE], ctx[SAME] = place, false
  if not target[IS_MOVED] then
    local moved = ctx[MOVED] or {}
    ctx[MOVED], moved[#moved + 1], target[IS_MOVED] = moved, uid, true
  end
  -- What was read ahead of the index holds only before this one.
  if place and place < (ctx[LOWEST] or math.huge) then ctx[LOWEST] = place end
end

-- Keeps a target to be stored with its place in the index.
local function write_target(ctx, uid, target)
  keep_target(ctx, uid, target)
  local place = place_in(INDEX_KINDS[ctx[POLICY]], target, ctx[PLACES])
  if place ~= target[PLACE] or ctx[FILLING] > 0 then move_target(ctx, uid, target, place) end
end
