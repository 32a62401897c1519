--- @include "layout"
--- @include "free-slots"
--- @include "place-target"
local function move_in(ctx, index, uid, target, was_free)
  if free_slots(target) == 0 then
    if was_free ~= false then redis.call('ZREM', ctx.keys[index], uid) end
  elseif index == LOAD or not was_free then
    redis.call('ZADD', ctx.keys[index], score_in(index, target), uid)
  end
end

-- Stores a target and its place in the index. `was_free` true or false says that the target was, or
-- was not, in the index in the same state, which saves a command; nil when unsure.
local function write_target(ctx, uid, target, was_free)
  redis.call('HSET', ctx.keys[TARGETS], uid, struct.pack(TARGET_FORMAT, unpack(target, 1, CAUSE)))
  local index = index_of(ctx.policy)
  move_in(ctx, index, uid, target, was_free)
  if ctx.filling == 1 then move_in(ctx, FREE + LOAD - index, uid, target) end
end
