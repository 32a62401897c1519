--- @include "layout"
--- @include "read-target"
--- @include "profiles"
--- @include "batch-choice"
-- The first target of a profile that can take the call, among its heads: not excluded, and with
-- room for the prompt where it says how much it has. Entries are members and scores, from the front.
local function first_fitting(ctx, heads, most, exclude, tokens)
  for i = 1, math.min(#heads, 2 * most), 2 do
    local uid = string.sub(heads[i], 5)
    local fits = not exclude[uid]
    if fits and tokens > 0 then
      local room = read_target(ctx, uid)[KV_FREE]
      fits = not room or room >= tokens
    end
    if fits then return uid, tonumber(heads[i + 1]), unpack_struct('>I4', heads[i]) end
  end
end

-- Heads and largest work of each profile that has a target in the index, ready ones or suspected.
local function candidates_of(ctx, works, offset, exclude, tokens, warm)
  local speed, found = read_speed(ctx), { largest = 0, smallest = math.huge, least = math.huge }
  local key = ctx[KEY_LIST][ctx[INDEX]]
  local most = (exclude.count > 0 or tokens > 0) and HEADS or 1
  for number = 0, speed.count - 1 do
    local from = (number + offset) * WORK_STEP
    local to = from + WORK_STEP - 1
    local heads = call('ZRANGEBYSCORE', key, from, to, 'WITHSCORES', 'LIMIT', 0, most)
    if #heads > 0 then
      local work = works[speed.names[number]] or works[false]
      found.least = math.min(found.least, work)
      found.smallest = math.min(found.smallest, heads[2] - from)
      note_weights(found, works, speed.names[number])
      -- With one candidate the largest weighs nothing.
      if speed.count > 1 or warm then
        local last = call('ZREVRANGEBYSCORE', key, to, from, 'WITHSCORES', 'LIMIT', 0, 1)
        found.largest = math.max(found.largest, last[2] - from)
      end
      local uid, score, admission = first_fitting(ctx, heads, most, exclude, tokens)
      if uid then
        found[#found + 1] = { uid = uid, work = work, outstanding = score - from,
          admission = admission, name = speed.names[number], works = works }
      end
    end
  end
  return found
end
