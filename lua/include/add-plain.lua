--- @include "layout"
--- @include "add-request"
-- Record of a lease without a tail. Those of one holder in one step differ in their target only.
local function plain_lease(ctx, holder, uid)
  if not ctx[LEASE_HEAD] then
    local now = pack_struct('>d', ctx[NOW])
    ctx[LEASE_HEAD], ctx[LEASE_END] = '\1' .. holder .. '\0' .. now, '\0' .. now .. '\0'
  end
  return ctx[LEASE_HEAD] .. uid .. ctx[LEASE_END]
end

-- Takes the slot of a new lease. False when the request is known: nothing has changed then. In a
-- batch, where it was looked up before, the lease is stored with the others.
local function add_plain(ctx, id, holder, uid)
  local record = plain_lease(ctx, holder, uid)
  local leases = ctx[NEW_LEASES]
  if not leases or ctx[RENEWED] ~= holder then return add_request(ctx, id, holder, record) end
  local count = #leases
  leases[count + 1], leases[count + 2], ctx[REQUEST_CACHE][id] = id, record, record
  return true
end
