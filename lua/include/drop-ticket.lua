--- @include "layout"
--- @include "owned-member"
-- Takes a waiting request out of the queue for good.
local function drop_ticket(ctx, request_id, ticket)
  redis.call('HDEL', ctx.keys[REQUESTS], request_id)
  redis.call('ZREM', ctx.keys[QUEUE], request_id)
  redis.call('ZREM', ctx.keys[OWNED], owned_member('a', ticket[HOLDER], request_id))
  ctx.waiting = ctx.waiting - 1
end
