--- @include "layout"
-- Whether an activator still renews; while leases are held back, everyone known counts as alive.
local function is_alive(ctx, activator_id)
  local known = ctx[ALIVE] or {}
  local alive = known[activator_id]
  if alive == nil then
    local expiry = tonumber(redis.call('ZSCORE', ctx[KEY_LIST][ACTIVATORS], activator_id) or 0)
    alive = expiry > ctx[CLOCK] or (expiry > 0 and ctx[NOW] < ctx[HOLD])
    ctx[ALIVE], known[activator_id] = known, alive
  end
  return alive
end
