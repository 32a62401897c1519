--- @include "layout"
-- A target nobody has seen before; its state is yet to be set.
local function new_target()
  return { false, false, false, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, '', 0, 0, '' }
end
