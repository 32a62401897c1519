--- @include "layout"
--- @include "record-event"
-- Closes a step: stores the clocks and figures, and logs the step when the event log is on.
local function commit(ctx, operation, uid, request_id, target)
  redis.call('HSET', ctx.keys[META], 'run', struct.pack(RUN_FORMAT, ctx.now, ctx.clock, ctx.hold,
    ctx.integral, ctx.arrivals, ctx.cursor))
  record_event(ctx, operation, uid, request_id, target)
end
