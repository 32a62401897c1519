--- @include "layout"
-- Keeps what `batch` weighs beside the work on a profile; the work.
local function add_weights(works, name, text)
  local work, solo, log, mean, way = string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  works[true] = works[true] or { [true] = tonumber(way) }
  works[true][name] = { solo = tonumber(solo), log = tonumber(log), mean = tonumber(mean) }
  return tonumber(work)
end

-- Time of a call alone on a profile, which is its work but for the rule `batch`.
local function solo_time(works, name)
  local weights = works[true] and works[true][name]
  return weights and weights.solo or works[name] or works[false]
end

-- Estimates of a call by profile, from its text: name and us, each ended by a separator, up to the
-- warm targets. Those that are missing count as the mean of the others; without any, each call counts
-- the usual work. Under the rule `batch` four more numbers stand behind us, see include/batch-choice.
local function parse_works(text)
  local works, sum, count = {}, 0, 0
  local behind = string.find(text or '', '\2', 1, true)
  if behind then text = string.sub(text, 1, behind - 1) end
  for name, us in string.gmatch(text or '', '([^\1]*)\1([^\1]*)\1') do
    local work = math.max(1, tonumber(us) or add_weights(works, name, us))
    works[name], sum, count = work, sum + work, count + 1
  end
  works[false] = count > 0 and floor(sum / count + 0.5) or USUAL_WORK
  return works
end
