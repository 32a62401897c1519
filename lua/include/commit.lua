--- @include "run"
--- @include "record-event"
-- Closes a step: stores the clocks and figures, and logs the step when the event log is on. Within
-- a batch the figures are stored once, behind its last step.
local function commit(ctx, operation, uid, request_id, target)
  if not ctx.is_batch then store_run(ctx) end
  record_event(ctx, operation, uid, request_id, target)
end
