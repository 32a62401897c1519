--- @include "run"
--- @include "record-event"
-- Closes a step: stores the clocks and figures, and logs the step when the event log is on.
local function commit(ctx, operation, uid, request_id, target)
  store_run(ctx)
  record_event(ctx, operation, uid, request_id, target)
end
