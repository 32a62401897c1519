--- @include "layout"
-- Whether an activator still renews; while leases are held back, everyone known counts as alive.
local function is_alive(ctx, activator_id)
  local alive = ctx.alive[activator_id]
  if alive == nil then
    local expiry = tonumber(redis.call('ZSCORE', ctx.keys[ACTIVATORS], activator_id) or 0)
    alive = expiry > ctx.clock or (expiry > 0 and ctx.now < ctx.hold)
    ctx.alive[activator_id] = alive
  end
  return alive
end
