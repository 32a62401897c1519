--- @include "layout"
-- Time of the server in us, or the one given by a test.
local function time_of(given)
  local now = given and tonumber(given) or 0
  if now > 0 then return now end
  local time = call('TIME')
  return time[1] * SECOND + time[2]
end

local function name_globals()
  call, floor, pack_struct, unpack_struct = redis.call, math.floor, struct.pack, struct.unpack
end

-- A step of a revision that begins at a time, from the record of the last one.
local function new_step(keys, run)
  return {
    keys, {}, false, false, {}, false, INDEX_A, 0, FIFO, false, MOST_TICKETS, false,
    false, false, false, false, false, 1, false, false, false, false, false, false,
    unpack_struct(RUN_FORMAT, run),
  }
end
