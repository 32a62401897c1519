--- @include "layout"
--- @include "queue-members"
local function members_from(ctx, prefix, offset, limit)
  return call('ZRANGEBYLEX', ctx[KEY_LIST][QUEUE], '[' .. prefix, '(' .. after_prefix(prefix), 'LIMIT',
    offset, limit)
end

local function count_of_prefix(ctx, prefix)
  return call('ZLEXCOUNT', ctx[KEY_LIST][QUEUE], '[' .. prefix, '(' .. after_prefix(prefix))
end

-- Puts a ticket in the queue, ranked or by arrival alone.
local function enter_queue(ctx, id, ticket)
  local age = age_member(id, ticket)
  if (ticket[CLASS] or NO_ORDER) == NO_ORDER then
    call('ZADD', ctx[KEY_LIST][QUEUE], 0, age)
    return
  end
  local crossing = crossing_member(ctx, id, ticket)
  call('ZADD', ctx[KEY_LIST][QUEUE], 0, age, 0, ranked_member(id, ticket),
    unpack(crossing and { 0, crossing } or {}))
end

-- Takes a ticket's rank out, so that it may get another one.
local function drop_rank(ctx, id, ticket)
  if (ticket[CLASS] or NO_ORDER) == NO_ORDER then return end
  call('ZREM', ctx[KEY_LIST][QUEUE], ranked_member(id, ticket),
    'x' .. pack_struct('>d', math.max(0, ticket[DEADLINE] - 0.5 * ticket[REST])) .. id)
end

local function leave_queue(ctx, id, ticket)
  drop_rank(ctx, id, ticket)
  call('ZREM', ctx[KEY_LIST][QUEUE], age_member(id, ticket))
  ctx[WAITING] = ctx[WAITING] - 1
end
