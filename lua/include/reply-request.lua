--- @include "layout"
--- @include "read-target"
local function reply_waiting(ctx, arrived_at)
  local counts = call('HMGET', ctx[KEY_LIST][META], 'n:ready', 'n:suspected')
  local ready = tonumber(counts[1] or 0) + tonumber(counts[2] or 0)
  return { 'waiting', arrived_at, ready, ctx[WAITING] }
end

-- `leased`, or `ranked` with class, key and work behind it.
local function reply_lease(lease, target)
  local address = target and target[ADDRESS] or ''
  if not lease[LEASE_WORK] then
    return { 'leased', lease[UID], address, lease[ARRIVED_AT], lease[GRANTED_AT] }
  end
  return { 'ranked', lease[UID], address, lease[ARRIVED_AT], lease[GRANTED_AT], lease[LEASE_CLASS],
    lease[LEASE_KEY], lease[LEASE_WORK] }
end

-- Reply for a lease or ticket that exists.
local function reply_request(ctx, request)
  if request[KIND] == TICKET then return reply_waiting(ctx, request[ARRIVED_AT]) end
  return reply_lease(request, read_target(ctx, request[UID]))
end
