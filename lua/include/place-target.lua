--- @include "layout"
-- Index that the policy of the revision chooses from; only this one is kept.
local function index_of(policy)
  return BY_LOAD[policy] and LOAD or FREE
end

local function score_in(index, target)
  local is_suspected = target[STATE] == 'suspected'
  if index == FREE then return target[ADMISSION] + (is_suspected and FREE_BAND or 0) end
  return target[IN_FLIGHT] * LOAD_STEP + target[ADMISSION] + (is_suspected and LOAD_BAND or 0)
end
