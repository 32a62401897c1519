--- @include "layout"
-- Details of a target, blank ones when there are none yet.
local function read_details(ctx, uid)
  local raw = redis.call('HGET', ctx[KEY_LIST][DETAILS], uid)
  if raw then return cmsgpack.unpack(raw) end
  return { '', '', 'starting', '', '{}', '', 0, ctx[NOW], 0, 0, 0, 0, 0, '', 0, {} }
end

local function write_details(ctx, uid, details)
  redis.call('HSET', ctx[KEY_LIST][DETAILS], uid, cmsgpack.pack(details))
end
