--- @include "layout"
--- @include "read-target"
-- Next target of what was read ahead of the index, above a score; nil when that holds no more, as
-- after another target came to stand before it.
local function next_ahead(ctx, above)
  local front = ctx[FRONT]
  if not front then return nil end
  local lowest = ctx[LOWEST]
  for at = front.at, #front do
    local uid = front[at]
    local target = read_target(ctx, uid)
    local place = target and not target[IS_MOVED] and target[PLACE]
    if place and place > above then
      front.at = at
      if lowest and lowest < place then return nil end
      return uid
    end
  end
  front.at = #front + 1
end

-- Keeps what was read of the index, and reads the targets at once. The first.
local function read_ahead(ctx, front)
  if not front[1] then return nil end
  front.at = 1
  ctx[FRONT] = front
  fetch_targets(ctx, front)
  return front[1]
end
