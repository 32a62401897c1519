--- @include "layout"
--- @include "add-request"
--- @include "commit"
--- @include "rank-ticket"
--- @include "rekey-tickets"
--- @include "reply-request"
--- @include "retry-after"
--- @include "tenants"
-- Puts a ticket where it belongs: by arrival alone in a plain queue, else by its rank too. The first
-- call of a tenant, or of a level, ranks the whole queue, and so does the first that waits for one
-- target, which stands in a line of that.
local function place_ticket(ctx, id, ticket, details)
  if details then keep_details(ticket, details) end
  local bound = details and details.bound
  local names_rank = details and (bound or details.tenant ~= '' or details.level ~= 7)
  if names_rank and not ctx[IS_RANKED] then
    begin_rekey(ctx)
    rekey_tickets(ctx)
  end
  if bound then
    ticket[WORKS] = ticket[WORKS] .. '\4' .. bound
    add_request(ctx, id, ticket[HOLDER], ticket)
    call('ZADD', ctx[KEY_LIST][QUEUE], 0, age_member(id, ticket))
    return
  end
  if ctx[IS_RANKED] then
    rank_ticket(ctx, ticket)
    enter_tenant(ctx, ticket[TENANT])
  end
  add_request(ctx, id, ticket[HOLDER], ticket)
  enter_queue(ctx, id, ticket)
end

-- Puts a request in the shared queue, and wakes the autoscaler for the first one and for one that
-- finds no pod ready. A request that comes with a time of arrival keeps its place.
local function enqueue(ctx, request)
  local arrived_at, number = request.known_arrival, 0
  if not arrived_at then
    if ctx[WAITING] >= tonumber(call('HGET', ctx[KEY_LIST][META], 'depth')) then
      return { 'queue-full', retry_after(ctx) }
    end
    arrived_at, ctx[ARRIVALS] = ctx[NOW], ctx[ARRIVALS] + 1
    number = ctx[ARRIVALS] % 4294967296
  end
  local ticket = { TICKET, request.holder, arrived_at, request.exclude, number, 0 }
  place_ticket(ctx, request.id, ticket, request.call)
  ctx[WAITING] = ctx[WAITING] + 1
  commit(ctx, 'wait', '', request.id)
  local reply = reply_waiting(ctx, arrived_at)
  if reply[3] == 0 or ctx[WAITING] == 1 then
    call('PUBLISH', unpack(call('HMGET', ctx[KEY_LIST][META], 'wake', 'revision')))
  end
  return reply
end
