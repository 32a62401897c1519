--- @include "layout"
-- Details of a target, blank ones when there are none yet.
local function read_details(ctx, uid)
  local raw = redis.call('HGET', ctx.keys[DETAILS], uid)
  if raw then return cmsgpack.unpack(raw) end
  return { '', '', 'starting', '', '{}', '', 0, ctx.now, 0, 0, 0, 0, 0, '', 0, {} }
end

local function write_details(ctx, uid, details)
  redis.call('HSET', ctx.keys[DETAILS], uid, cmsgpack.pack(details))
end
