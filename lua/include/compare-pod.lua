--- @include "layout"
--- @include "read-target"
--- @include "new-target"
--- @include "revive-target"
--- @include "details"
--- @include "set-state"
--- @include "bury-target"
--- @include "settle-target"
--- @include "owned-member"
--- @include "profiles"
local function pod_absent(ctx, uid, target)
  if not target then return end
  redis.call('ZREM', ctx[KEY_LIST][OWNED], owned_member('e', '', uid))
  if target[STATE] == 'deleted' then
    -- Its pod is gone now, so nothing brings it back and nothing of it runs.
    target[CAUSE] = 'vanished'
    forget_lapsed(ctx, uid, target)
    write_target(ctx, uid, target)
    return
  end
  local details = read_details(ctx, uid)
  -- A pod that pushed after the list was read is not in it.
  if target[BOOT] > 0 and ctx[NOW] - details[SEEN_AT] < YOUNG then return end
  bury_target(ctx, uid, target, details, 'vanished')
end

-- One pod of the list, or one target that is not in it.
local function compare_pod(ctx, uid, what, pod_name, card)
  local target = read_target(ctx, uid)
  if what == 'absent' then return pod_absent(ctx, uid, target) end
  if target and target[STATE] == 'deleted' then
    redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[NOW] + TOMBSTONE_TIME, 'x' .. uid)
    if what == 'draining' or not REVIVABLE[target[CAUSE]] then return end
    revive_target(ctx, uid, target)
  end
  target = target or new_target()
  local details = read_details(ctx, uid)
  details[POD_NAME] = pod_name
  if card ~= '' then details[CARD] = card end
  know_profile(ctx, target, details[CARD])
  if target[STATE] == '' then set_state(ctx, uid, target, details, 'starting', '') end
  if what == 'draining' then set_state(ctx, uid, target, details, 'draining', 'pod is deleted') end
  settle_target(ctx, uid, target, details)
end
