--- @include "layout"
--- @include "read-request"
--- @include "drop-ticket"
--- @include "is-alive"
--- @include "exclude-set"
--- @include "grant-lease"
--- @include "announce"
--- @include "record-event"
--- @include "record-wait"
-- Offers a slot of a target to one waiting request. True when the request left the queue: it got
-- the slot, or its activator is gone. False when it may not use this target.
local function serve_ticket(ctx, uid, target, request_id)
  local ticket = read_request(ctx, request_id)
  if not is_alive(ctx, ticket[HOLDER]) then
    drop_ticket(ctx, request_id)
    record_event(ctx, 'ticket-lapsed', '', request_id)
    return true
  end
  if ticket[EXCLUDE] ~= '' and exclude_set(ticket[EXCLUDE])[uid] then return false end
  redis.call('ZREM', ctx.keys[QUEUE], request_id)
  ctx.waiting = ctx.waiting - 1
  grant_lease(ctx, uid, target, request_id, ticket)
  record_wait(ctx, ticket)
  announce(ctx, uid, target, request_id, ticket)
  record_event(ctx, 'assign', uid, request_id, target)
  return true
end
