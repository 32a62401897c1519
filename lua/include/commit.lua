--- @include "run"
--- @include "record-event"
-- Closes a step: stores what changed, and logs the step when the event log is on. Within a batch
-- all is stored once, behind its last step.
local function commit(ctx, operation, uid, request_id, target)
  if not ctx[IS_BATCH] then store_run(ctx) end
  if ctx[EVENTS_ON] then record_event(ctx, operation, uid, request_id, target) end
end
