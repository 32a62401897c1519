--- @include "layout"
--- @include "read-request"
--- @include "drop-ticket"
--- @include "is-alive"
--- @include "exclude-set"
--- @include "grant-lease"
--- @include "tenants"
--- @include "rekey-tickets"
--- @include "announce"
--- @include "record-event"
--- @include "record-wait"
-- A ranked call got a slot: the turns of the lost ones, and the time of its tenant, move on.
local function note_admission(ctx, ticket, lease)
  if ctx[ORDER] == URGENCY then
    local passes = ticket[CLASS] == 0 and #members_from(ctx, rank_prefix(1), 0, 1) > 0
    ctx.share = passes and math.min(255, ctx.share + 1) or 0
  end
  charge_tenant(ctx, ticket[TENANT], lease[LEASE_WORK], ticket[WEIGHT])
end

-- Its session got a home while it waited: it stands in the line of that target from now on, so that no
-- other target has to look past it.
local function wait_for_home(ctx, id, ticket, home)
  if not ctx[IS_RANKED] then begin_rekey(ctx) end
  drop_rank(ctx, id, ticket)
  call('ZREM', ctx[KEY_LIST][QUEUE], age_member(id, ticket))
  ticket[CLASS], ticket[WORKS] = NO_ORDER, ticket[WORKS] .. '\4' .. home
  call('ZADD', ctx[KEY_LIST][QUEUE], 0, age_member(id, ticket))
  write_request(ctx, id, ticket)
end

local function fits(target, uid, ticket)
  if ticket[EXCLUDE] ~= '' and exclude_set(ticket[EXCLUDE])[uid] then return false end
  local room = target[KV_FREE]
  return not room or room >= (ticket[TOKENS] or 0)
end

-- Offers a slot of a target to one waiting request. True when the request left the queue: it got
-- the slot, or its activator is gone. False when it may not use this target; nil when it left its line
-- for that of another target.
local function serve_ticket(ctx, uid, target, request_id)
  local ticket = read_request(ctx, request_id)
  if not is_alive(ctx, ticket[HOLDER]) then
    drop_ticket(ctx, request_id, ticket)
    if ctx[EVENTS_ON] then record_event(ctx, 'ticket-lapsed', '', request_id) end
    return true
  end
  local home = ticket[WORKS] and home_elsewhere(ctx, uid, ticket)
  if home and not bound_of(ticket) then return wait_for_home(ctx, request_id, ticket, home) end
  if home or not fits(target, uid, ticket) then return false end
  leave_queue(ctx, request_id, ticket)
  local lease = grant_lease(ctx, uid, target, request_id, ticket)
  local _, session = session_of(ticket[WORKS])
  if session then bind_session(ctx, session, uid) end
  if ticket[CLASS] and ctx[IS_RANKED] then note_admission(ctx, ticket, lease) end
  record_wait(ctx, ticket)
  announce(ctx, target, request_id, lease)
  if ctx[EVENTS_ON] then record_event(ctx, 'assign', uid, request_id, target) end
  return true
end
