--- @include "layout"
-- Tells an activator that one of its waiting requests has a slot. Whole microseconds are written
-- by hand, since cjson keeps 14 digits only.
local function announce(ctx, uid, target, request_id, ticket)
  if not ctx.channel then
    local meta = redis.call('HMGET', ctx.keys[META], 'channel', 'revision')
    ctx.channel, ctx.revision = meta[1], meta[2]
  end
  local encode = cjson.encode
  redis.call('PUBLISH', ctx.channel .. ticket[HOLDER], string.format(
    '{"revision":%s,"leaseId":%s,"targetUid":%s,"address":%s,"arrivedAt":%.0f,"grantedAt":%.0f}',
    encode(ctx.revision), encode(request_id), encode(uid), encode(target[ADDRESS]),
    ticket[ARRIVED_AT], ctx.now))
end
