--- @include "layout"
--- @include "reap-page"
--- @include "read-request"
--- @include "read-target"
--- @include "drop-ticket"
--- @include "forget-lease"
--- @include "lapse-lease"
--- @include "settle-target"
-- What one lapsed request of a dead activator becomes: nothing, or a question to the pod.
local function reap_request(ctx, request_id, request)
  if request[KIND] == TICKET then
    drop_ticket(ctx, request_id, request)
    return
  end
  local target = read_target(ctx, request[UID])
  if target and (target[CAUSE] == '' or REVIVABLE[target[CAUSE]]) then
    lapse_lease(ctx, request_id, request, target)
  else
    forget_lease(ctx, request_id, request, target)
  end
  if target then settle_target(ctx, request[UID], target) end
end

-- Reaps one activator whose time is over, a bounded number of requests per call. While leases are
-- held back (a gap in time, another server) only one that left by itself is reaped.
local function reap_activators(ctx)
  local limit = ctx[NOW] < ctx[HOLD] and 0 or ctx[CLOCK]
  local activator_id, expiry = unpack(redis.call('ZRANGEBYSCORE', ctx[KEY_LIST][ACTIVATORS], '-inf', limit,
    'WITHSCORES', 'LIMIT', 0, 1))
  if not activator_id then return end
  ctx[ALIVE] = { [activator_id] = false }
  local page = reap_page(ctx, activator_id, expiry)
  for i = 1, #page, 2 do
    -- Handing over a slot of an earlier one may have dropped this ticket already.
    local request = read_request(ctx, page[i])
    if request and request[HOLDER] == activator_id and request[LAPSED_LEASE] == 0 then
      reap_request(ctx, page[i], request)
    end
  end
  ctx[MORE] = true
end
