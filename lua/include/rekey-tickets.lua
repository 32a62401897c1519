--- @include "layout"
--- @include "enter-queue"
--- @include "rank-ticket"
--- @include "read-request"
--- @include "write-request"
-- Ranks anew, under another order, those that wait: a page per call, oldest first. Those that are yet
-- to be ranked are served behind the others.
local function rekey_tickets(ctx)
  if not ctx.rekey then return end
  local after = call('HGET', ctx[KEY_LIST][META], 'rekey')
  local page = call('ZRANGEBYLEX', ctx[KEY_LIST][QUEUE], after and '(' .. after or '[a', '(b', 'LIMIT', 0,
    MOST_TICKETS)
  for _, member in ipairs(page) do
    local id = id_of_age(member)
    local ticket = read_request(ctx, id)
    drop_rank(ctx, id, ticket)
    rank_ticket(ctx, ticket)
    enter_queue(ctx, id, ticket)
    write_request(ctx, id, ticket)
  end
  if #page < MOST_TICKETS then
    ctx.rekey = false
    call('HDEL', ctx[KEY_LIST][META], 'rekey')
  else
    call('HSET', ctx[KEY_LIST][META], 'rekey', page[#page])
    ctx[MORE] = true
  end
end

-- The queue is in another order from now on.
local function begin_rekey(ctx)
  ctx[IS_RANKED], ctx.share, ctx.virtual = true, ctx.share or 0, ctx.virtual or 0
  ctx.limit = tonumber(call('HGET', ctx[KEY_LIST][META], 'limit') or 0)
  call('HDEL', ctx[KEY_LIST][META], 'rekey')
  ctx.rekey = ctx[WAITING] > 0
end
