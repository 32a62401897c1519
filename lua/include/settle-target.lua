--- @include "layout"
--- @include "bury-target"
--- @include "hand-over"
--- @include "write-target"
-- Last act on a changed target: a drained one leaves, a free one serves who waits. Writes the
-- target; pass `details` when they were changed.
local function settle_target(ctx, uid, target, details)
  if target[STATE] == 'draining' and target[IN_FLIGHT] == 0 then
    bury_target(ctx, uid, target, details or read_details(ctx, uid), 'drained')
    return
  end
  hand_over(ctx, uid, target)
  write_target(ctx, uid, target)
  if details then write_details(ctx, uid, details) end
end
