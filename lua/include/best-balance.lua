local function has_less_work(one, other)
  if one.outstanding ~= other.outstanding then return one.outstanding < other.outstanding end
  return one.admission < other.admission
end

-- Speed against outstanding work, in the order of operations of common/hexgen/dispatch.ts.
local function score_of(candidate, alpha, found)
  local speed = alpha * (found.least / candidate.work)
  if found.largest == 0 then return speed end
  return speed - (1 - alpha) * (candidate.outstanding / found.largest)
end

-- The best of those that have a score; among ties the one with the least work.
local function best_scored(found)
  local best, chosen = -math.huge, nil
  for _, candidate in ipairs(found) do
    if candidate.score > best then best = candidate.score end
  end
  for _, candidate in ipairs(found) do
    if candidate.score >= best - 1e-9 and (not chosen or has_less_work(candidate, chosen)) then
      chosen = candidate
    end
  end
  return chosen
end

local function best_balance(found, alpha)
  for _, candidate in ipairs(found) do candidate.score = score_of(candidate, alpha, found) end
  return best_scored(found)
end

local function earliest_end(found)
  local chosen
  for _, candidate in ipairs(found) do
    candidate.score = candidate.outstanding + candidate.work
    if not chosen or candidate.score < chosen.score
      or (candidate.score == chosen.score and candidate.admission < chosen.admission) then
      chosen = candidate
    end
  end
  return chosen
end
