--- @include "layout"
-- Slots of a target that a new lease may take; 0 in a state that takes none.
-- Work that goes on after its caller left is either a lapsed lease or counted as occupied by the
-- pod, so the larger of both counts once.
local function free_slots(target)
  local state = target[STATE]
  if state ~= 'ready' and state ~= 'suspected' then return 0 end
  if target[HELD] == HELD_ALL then return 0 end
  if target[CAPACITY] == 0 then return math.huge end
  local occupied = math.max(0, target[OCCUPIED] - target[LAPSED])
  return math.max(0, target[CAPACITY] - target[IN_FLIGHT] - occupied - target[HELD])
end
