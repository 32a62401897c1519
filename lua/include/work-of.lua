--- @include "layout"
--- @include "profiles"
--- @include "parse-works"
local function profile_of(ctx, target)
  return target[PROFILE] and read_speed(ctx).names[target[PROFILE]]
end

-- Work of a call on one target in us; nothing is counted unless the revision chooses by speed.
local function work_on(ctx, works, target)
  if ctx[POLICY] ~= SPEED_AWARE then return 0 end
  return works[profile_of(ctx, target) or false] or works[false]
end

-- Smallest work of a call over the profiles that have a ready target, over all when none has; 0 when
-- nothing is known of it.
local function least_work(ctx, text)
  if not string.find(text or '', '\1', 1, true) then return 0 end
  local works, speed = parse_works(text), read_speed(ctx)
  local least, least_ready = math.huge, math.huge
  local fields = {}
  for number = 0, speed.count - 1 do fields[number + 1] = 'r:' .. number end
  local ready = #fields > 0 and call('HMGET', ctx[KEY_LIST][META], unpack(fields)) or {}
  for number = 0, speed.count - 1 do
    local work = solo_time(works, speed.names[number])
    least = math.min(least, work)
    if tonumber(ready[number + 1] or 0) > 0 then least_ready = math.min(least_ready, work) end
  end
  if least_ready < math.huge then return least_ready end
  if least < math.huge then return least end
  for name in pairs(works) do
    if type(name) == 'string' then least = math.min(least, solo_time(works, name)) end
  end
  return least
end
