--- @include "layout"
--- @include "free-slots"
-- Stores a target and its places in both indexes. `was_free` true or false says that the target
-- was, or was not, in the index in the same state, which saves a command; nil when unsure.
local function write_target(ctx, uid, target, was_free)
  local keys = ctx.keys
  redis.call('HSET', keys[TARGETS], uid, struct.pack(TARGET_FORMAT, unpack(target, 1, CAUSE)))
  if free_slots(target) == 0 then
    if was_free ~= false then
      redis.call('ZREM', keys[FREE], uid)
      redis.call('ZREM', keys[LOAD], uid)
    end
    return
  end
  local free, load = target[ADMISSION], target[IN_FLIGHT] * LOAD_STEP + target[ADMISSION]
  if target[STATE] == 'suspected' then
    free, load = free + FREE_BAND, load + LOAD_BAND
  end
  if not was_free then redis.call('ZADD', keys[FREE], free, uid) end
  redis.call('ZADD', keys[LOAD], load, uid)
end
