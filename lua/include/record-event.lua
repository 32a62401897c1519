--- @include "layout"
--- @include "free-slots"
-- One entry of the event log: what a step did, with the target as it is after it.
local MOST_FREE = 1000000

local function record_event(ctx, operation, uid, request_id, target)
  if not ctx[EVENTS_ON] then return end
  local state, in_flight, capacity, free = '', 0, 0, 0
  if target then
    state, in_flight, capacity = target[STATE], target[IN_FLIGHT], target[CAPACITY]
    free = math.min(free_slots(ctx, target), MOST_FREE)
  end
  redis.call('XADD', ctx[KEY_LIST][EVENTS], 'MAXLEN', '~', 20000, '*', 'at', ctx[NOW],
    'operation', operation, 'target', uid or '', 'lease', request_id or '', 'state', state,
    'inFlight', in_flight, 'capacity', capacity, 'free', free, 'waiting', ctx[WAITING])
end
