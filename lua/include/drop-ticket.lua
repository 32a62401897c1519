--- @include "layout"
-- Takes a waiting request out of the queue for good.
local function drop_ticket(ctx, request_id)
  redis.call('HDEL', ctx.keys[REQUESTS], request_id)
  redis.call('ZREM', ctx.keys[QUEUE], request_id)
  ctx.waiting = ctx.waiting - 1
end
