--- @include "layout"
--- @include "work-of"
--- @include "best-balance"
-- Choice for engines that batch, in the order of operations of common/hexgen/batch-dispatch.ts: work
-- is engine time, speed that of the call alone, and on a busy pool a card is worth more to calls that
-- it is comparatively good at. Logarithms come with the call, so that both sides have the same bits.
local ADVANTAGE_WEIGHT, LARGEST_ADVANTAGE = 2, 0.2
-- Parts of the engine time of a workflow of the call's class.
local SMALL_LOAD, BUSY_LOAD = 10000000 / 19334551, 20000000 / 19334551

-- Takes a profile, or a warm target of it, into the figures of the pool.
local function note_weights(found, works, name)
  if not works[true] then return end
  local weights = works[true][name]
  found.way = works[true][true]
  found.solo = math.min(found.solo or math.huge, solo_time(works, name))
  if weights then found.log = math.min(found.log or math.huge, weights.log) end
end

local function batch_score(candidate, alpha, found)
  local weights = candidate.works[true] and candidate.works[true][candidate.name]
  local speed = alpha * (found.solo / solo_time(candidate.works, candidate.name))
  local difference = weights and found.log - weights.log - weights.mean or 0
  local advantage = math.min(math.max(difference, -LARGEST_ADVANTAGE), LARGEST_ADVANTAGE)
  local busy = math.min(found.smallest / (BUSY_LOAD * found.way), 1)
  local load = (1 - alpha) * (candidate.outstanding / math.max(found.largest, SMALL_LOAD * found.way))
  return speed + ADVANTAGE_WEIGHT * busy * advantage - load
end

local function best_for_batch(found, alpha)
  for _, candidate in ipairs(found) do candidate.score = batch_score(candidate, alpha, found) end
  return best_scored(found)
end
