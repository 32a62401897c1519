--- @include "layout"
--- @include "place-target"
--- @include "profile-heads"
--- @include "read-target"
--- @include "work-of"
local function candidate_of(found, uid)
  for _, candidate in ipairs(found) do
    if candidate.uid == uid then return candidate end
  end
end

-- The targets that hold a beginning of the prompt stand beside the heads, with the time that the call
-- takes there. One that cannot take the call still counts for the least time.
local function add_warm(ctx, found, warm, offset, exclude, tokens)
  fetch_targets(ctx, warm.uids)
  for _, uid in ipairs(warm.uids) do
    local target = read_target(ctx, uid)
    local place = target and place_in(BY_WORK, target, ctx[PLACES])
    if place and (place >= SUSPECTED_PROFILES * WORK_STEP) == (offset > 0) then
      local work = work_on(ctx, warm.works[uid], target)
      found.least = math.min(found.least, work)
      note_weights(found, warm.works[uid], read_speed(ctx).names[target[PROFILE] or 0])
      local head, room = candidate_of(found, uid), target[KV_FREE]
      if head then
        head.work, head.works = work, warm.works[uid]
      elseif not exclude[uid] and (not room or room >= tokens) then
        found[#found + 1] = { uid = uid, work = work, outstanding = place % WORK_STEP,
          admission = target[ADMISSION], name = read_speed(ctx).names[target[PROFILE] or 0],
          works = warm.works[uid] }
      end
    end
  end
end
