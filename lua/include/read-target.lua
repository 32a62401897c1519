--- @include "layout"
-- Record of a target, tombstones included; nil when unknown.
local function read_target(ctx, uid)
  local raw = redis.call('HGET', ctx.keys[TARGETS], uid)
  return raw and { struct.unpack(TARGET_FORMAT, raw) }
end
