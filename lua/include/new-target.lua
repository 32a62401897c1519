--- @include "layout"
-- A target nobody has seen before; its state is yet to be set.
local function new_target()
  return { '', 0, 1, 0, 0, 0, 0, 0, 0, 0, '', 0, 0, '' }
end
