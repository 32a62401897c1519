--- @include "layout"
--- @include "ask-list"
--- @include "count-state"
-- Reply to a push: what is on record for the pod, and what its sidecar must do next.
local function reply_report(ctx, kind, uid, target)
  local reply = { kind, target[STATE], target[BOOT], target[SEQUENCE],
    target[IN_FLIGHT] == 0 and 1 or 0, count_of_targets(ctx), ctx[MORE] and 1 or 0 }
  if target[STATE] == 'deleted' then return reply end
  for _, request_id in ipairs(ask_list(ctx, uid, target)) do reply[#reply + 1] = request_id end
  return reply
end
