--- @include "layout"
--- @include "profiles"
-- Estimates of a call by profile, from its text: name and us, each ended by a separator, up to the
-- warm targets. Those that are missing count as the mean of the others; without any, each call counts
-- the usual work.
local function parse_works(text)
  local works, sum, count = {}, 0, 0
  local behind = string.find(text or '', '\2', 1, true)
  if behind then text = string.sub(text, 1, behind - 1) end
  for name, us in string.gmatch(text or '', '([^\1]*)\1([^\1]*)\1') do
    local work = math.max(1, tonumber(us))
    works[name], sum, count = work, sum + work, count + 1
  end
  works[false] = count > 0 and floor(sum / count + 0.5) or USUAL_WORK
  return works
end

-- Work of a call on one target in us; nothing is counted unless the revision chooses by speed.
local function work_on(ctx, works, target)
  if ctx[POLICY] ~= SPEED_AWARE then return 0 end
  local name = target[PROFILE] and read_speed(ctx).names[target[PROFILE]]
  return works[name or false] or works[false]
end

-- Smallest work of a call over the profiles that have a ready target, over all when none has; 0 when
-- nothing is known of it.
local function least_work(ctx, text)
  if (text or '') == '' then return 0 end
  local works, speed = parse_works(text), read_speed(ctx)
  local least, least_ready = math.huge, math.huge
  local fields = {}
  for number = 0, speed.count - 1 do fields[number + 1] = 'r:' .. number end
  local ready = #fields > 0 and call('HMGET', ctx[KEY_LIST][META], unpack(fields)) or {}
  for number = 0, speed.count - 1 do
    local work = works[speed.names[number]] or works[false]
    least = math.min(least, work)
    if tonumber(ready[number + 1] or 0) > 0 then least_ready = math.min(least_ready, work) end
  end
  if least_ready < math.huge then return least_ready end
  if least < math.huge then return least end
  works[false] = nil
  for _, work in pairs(works) do least = math.min(least, work) end
  return least
end
