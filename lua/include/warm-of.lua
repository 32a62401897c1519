--- @include "layout"
--- @include "parse-works"
-- Targets that hold a beginning of the prompt, at most eight, and the estimates that hold there: behind
-- each \2 their uids, separated by spaces, \1, and estimates by profile. Nil for most calls.
local function parse_warm(text)
  local from = string.find(text or '', '\2', 1, true)
  if not from then return nil end
  local warm = { uids = {}, works = {} }
  for uids, estimates in string.gmatch(string.sub(text, from), '\2([^\1\2]*)\1([^\2]*)') do
    local works = parse_works(estimates)
    for uid in string.gmatch(uids, '%S+') do
      if #warm.uids < HEADS then warm.uids[#warm.uids + 1], warm.works[uid] = uid, works end
    end
  end
  return warm.uids[1] and warm or nil
end

-- Estimates of a call that hold on one target.
local function works_for(details, uid)
  if not details then return parse_works('') end
  return details.warm and details.warm.works[uid] or details.works
end
