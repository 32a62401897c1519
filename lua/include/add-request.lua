--- @include "layout"
--- @include "request-record"
--- @include "write-request"
-- Notes the holder of a new request as alive, now and then where it takes one after the other.
local function note_holder(ctx, holder)
  if ctx[RENEWED] == holder then return end
  ctx[RENEWED] = holder
  if ctx[NOTED] == holder and ctx[CLOCK] - ctx[NOTED_AT] <= NOTED_FOR then return end
  ctx[NOTED], ctx[NOTED_AT] = holder, ctx[CLOCK]
  call('ZADD', ctx[KEY_LIST][ACTIVATORS], 'GT', ctx[CLOCK] + LEASE_TIME, holder)
end

-- Stores a lease or a ticket, packed or not, of an id that is new, and its holder as alive. False when
-- the id is known: nothing changed.
local function add_request(ctx, id, holder, request)
  local known = ctx[REQUEST_CACHE][id]
  if known then return false end
  if known == nil then
    local record = pack_request(request)
    if call('HSETNX', ctx[KEY_LIST][REQUESTS], id, record) == 0 then return false end
    ctx[REQUEST_CACHE][id] = request
  else
    write_request(ctx, id, request)
  end
  note_holder(ctx, holder)
  return true
end
