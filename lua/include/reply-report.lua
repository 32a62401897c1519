--- @include "layout"
--- @include "ask-list"
-- Reply to a push: what is on record for the pod, and what its sidecar must do next.
local function reply_report(ctx, kind, uid, target)
  local targets = tonumber(redis.call('HGET', ctx[KEY_LIST][META], 'n:all') or 0)
  local reply = { kind, target[STATE], target[BOOT], target[SEQUENCE],
    target[IN_FLIGHT] == 0 and 1 or 0, targets, ctx[MORE] and 1 or 0 }
  if target[STATE] == 'deleted' then return reply end
  for _, request_id in ipairs(ask_list(ctx, uid, target)) do reply[#reply + 1] = request_id end
  return reply
end
