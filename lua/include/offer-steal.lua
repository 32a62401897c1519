--- @include "layout"
--- @include "new-lease"
--- @include "read-request"
--- @include "read-target"
--- @include "announce"
-- An idle pod takes over what waits in another pod's local queue: the holder of the call that should
-- start last is told, and moves it if nothing of it was delivered. Each lease is offered once.
local function offer_steals(ctx, uid, target)
  for _ = 1, math.min(run_slots(target), MOST_OFFERS) do
    local member = call('ZREVRANGEBYLEX', ctx[KEY_LIST][OWNED], '(w\2', '[w\1', 'LIMIT', 0, 1)[1]
    if not member then return end
    call('ZREM', ctx[KEY_LIST][OWNED], member)
    local id = string.sub(member, 11)
    local lease = read_request(ctx, id)
    local victim = lease and lease[UID] ~= uid and read_target(ctx, lease[UID])
    if victim then publish_to(ctx, lease[HOLDER], steal_message(ctx, id, lease, victim)) end
  end
end
