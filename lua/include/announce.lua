--- @include "layout"
local function publish_to(ctx, activator_id, message)
  call('PUBLISH', ctx.channel .. activator_id, message)
end

local function read_channel(ctx)
  if ctx.channel then return end
  local meta = call('HMGET', ctx[KEY_LIST][META], 'channel', 'revision')
  ctx.channel, ctx.revision = meta[1], cjson.encode(meta[2])
end

-- Tells an activator that one of its waiting requests has a slot. Whole microseconds are written
-- by hand, since cjson keeps 14 digits only.
local function announce(ctx, target, request_id, lease)
  read_channel(ctx)
  local rank = ''
  if lease[LEASE_WORK] then
    rank = string.format(',"workUs":%.0f', lease[LEASE_WORK])
    if lease[LEASE_CLASS] ~= NO_ORDER then
      rank = string.format('%s,"orderClass":%d,"orderKeyUs":%.0f', rank, lease[LEASE_CLASS],
        lease[LEASE_KEY])
    end
  end
  publish_to(ctx, lease[HOLDER], string.format(
    '{"revision":%s,"leaseId":%s,"targetUid":%s,"address":%s,"arrivedAt":%.0f,"grantedAt":%.0f%s}',
    ctx.revision, cjson.encode(request_id), cjson.encode(lease[UID]), cjson.encode(target[ADDRESS]),
    lease[ARRIVED_AT], ctx[NOW], rank))
end

-- Asks an activator to move one of its leases away from a target.
local function steal_message(ctx, request_id, lease, target)
  read_channel(ctx)
  return string.format('{"steal":true,"revision":%s,"leaseId":%s,"targetUid":%s,"address":%s}',
    ctx.revision, cjson.encode(request_id), cjson.encode(lease[UID]), cjson.encode(target[ADDRESS]))
end
