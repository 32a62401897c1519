--- @include "layout"
-- What `speed-aware` needs of a revision, read when a step first asks: weight of speed, rule, and
-- the profiles by number, from 0, and by name.
local function read_speed(ctx)
  if ctx.speed then return ctx.speed end
  local meta = call('HMGET', ctx[KEY_LIST][META], 'alpha', 'rule', 'profiles')
  local speed = { alpha = tonumber(meta[1] or 0.3), rule = meta[2] or 'wb', count = 0, names = {},
    numbers = {} }
  for name in string.gmatch(meta[3] or '', '([^\1]*)\1') do
    speed.names[speed.count], speed.numbers[name] = name, speed.count
    speed.count = speed.count + 1
  end
  ctx.speed = speed
  return speed
end

-- Number of a profile, a new one when it is first seen. Those beyond the last share that.
local function profile_number(ctx, name)
  local speed = read_speed(ctx)
  local number = speed.numbers[name]
  if number then return number end
  if speed.count == MOST_PROFILES then return MOST_PROFILES - 1 end
  number, speed.count = speed.count, speed.count + 1
  speed.names[number], speed.numbers[name] = name, number
  call('HSET', ctx[KEY_LIST][META], 'profiles', table.concat(speed.names, '\1', 0, number) .. '\1')
  return number
end

local function count_ready(ctx, profile, step)
  if profile then call('HINCRBY', ctx[KEY_LIST][META], 'r:' .. profile, step) end
end

-- Gives a target the number of its card's profile; targets of a revision that never chose by speed
-- have none. Ready ones are counted by profile, see set-state.
local function know_profile(ctx, target, card)
  local is_wanted = ctx[POLICY] == SPEED_AWARE or ctx[FILLING] == SPEED_AWARE
  if not is_wanted and not target[PROFILE] then return end
  local profile = profile_number(ctx, card)
  if profile == target[PROFILE] then return end
  if target[STATE] == 'ready' then
    count_ready(ctx, target[PROFILE], -1)
    count_ready(ctx, profile, 1)
  end
  target[PROFILE] = profile
end
