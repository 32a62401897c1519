--- @include "layout"
-- Targets per state, and of all states together, are counted as they change.
local function count_state(ctx, state, step)
  if state == '' or state == 'deleted' then return end
  redis.call('HINCRBY', ctx[KEY_LIST][META], 'n:' .. state, step)
  redis.call('HINCRBY', ctx[KEY_LIST][META], 'n:all', step)
end
