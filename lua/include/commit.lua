--- @include "layout"
--- @include "record-event"
-- Closes a step: stores the clocks and figures, and logs the step when the event log is on.
local function commit(ctx, operation, uid, request_id, target)
  redis.call('HSET', ctx.keys[META], 'at', ctx.now, 'clock', ctx.clock, 'hold', ctx.hold,
    'integral', ctx.integral, 'arrivals', ctx.arrivals, 'cursor', ctx.cursor)
  record_event(ctx, operation, uid, request_id, target)
end
