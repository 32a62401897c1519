--- @include "layout"
-- Slots of a target on which a new lease would run at once; 0 or less when all are taken, and far
-- below in a state that takes none. Work that goes on after its caller left is either a lapsed lease
-- or counted as occupied by the pod, so the larger of both counts once.
local function run_slots(target)
  local state = target[STATE]
  if (state ~= 'ready' and state ~= 'suspected') or target[HELD] == HELD_ALL then
    return -math.huge
  end
  local capacity = target[CAPACITY]
  if capacity == 0 then return math.huge end
  local occupied = target[OCCUPIED] - target[LAPSED]
  if occupied < 0 then occupied = 0 end
  return capacity - target[IN_FLIGHT] - occupied - target[HELD]
end

-- Slots that a new lease may take: under early binding the places of the local queue are slots too.
local function free_slots(ctx, target)
  local free = run_slots(target) + ctx[PLACES]
  return free > 0 and free or 0
end
