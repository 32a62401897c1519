--- @include "layout"
--- @include "enter-queue"
--- @include "read-request"
--- @include "write-request"
-- Those that cannot meet their deadline any more stand in class 1 from now on, shortest rest first.
local function demote_tickets(ctx)
  if ctx[ORDER] ~= URGENCY then return end
  local due = call('ZRANGEBYLEX', ctx[KEY_LIST][QUEUE], '[x', '(x' .. pack_struct('>d', ctx[NOW]), 'LIMIT',
    0, MOST_DEMOTED)
  for _, member in ipairs(due) do
    local id = id_of_crossing(member)
    local ticket = read_request(ctx, id)
    drop_rank(ctx, id, ticket)
    ticket[CLASS], ticket[KEY] = 1, floor(ticket[REST] + 0.5)
    call('ZADD', ctx[KEY_LIST][QUEUE], 0, ranked_member(id, ticket))
    write_request(ctx, id, ticket)
  end
end
