--- @include "layout"
--- @include "read-target"
--- @include "work-of"
-- Cards whose assigned work the published code counts half.
local HALF_COUNTED = { A6000 = true, L40 = true, L40S = true }

-- The published rule: work is never taken off, and weighed against that of the first target, which
-- gets the first call unconditionally.
local function as_published(ctx, found, alpha, works)
  table.sort(found, function(one, other) return one.admission < other.admission end)
  local first = call('HGET', ctx[KEY_LIST][META], 'reference')
  local reference = first and read_target(ctx, first)
  if not reference or reference[STATE] == 'deleted' then
    first = found[1].uid
    reference = read_target(ctx, first)
    call('HSET', ctx[KEY_LIST][META], 'reference', first)
  end
  local reference_work, given = work_on(ctx, works, reference), reference[WORK] or 0
  local best, chosen = -math.huge, nil
  for _, candidate in ipairs(found) do
    if given == 0 and candidate.uid == first then return candidate end
  end
  if given == 0 then return found[1] end
  for _, candidate in ipairs(found) do
    local weight = HALF_COUNTED[candidate.name] and 0.5 or 1
    local score = alpha * reference_work / candidate.work
      - (1 - alpha) * weight * candidate.outstanding / given
    if score > best then best, chosen = score, candidate end
  end
  return chosen
end
