--- @include "layout"
-- A lease or ticket as it is stored: what every one has, and a tail for what few have.
local function pack_request(request)
  if type(request) == 'string' then return request end
  local record = pack_struct(REQUEST_FORMAT, unpack(request, 1, LAPSED_LEASE))
  if not request[LEASE_WORK] then return record end
  if request[KIND] == LEASE then
    return record .. pack_struct(LEASE_TAIL, unpack(request, LEASE_WORK, STARTS_AT))
  end
  return record .. pack_struct(TICKET_TAIL, unpack(request, CLASS, WORKS))
end

local function unpack_request(raw)
  local request = { unpack_struct(REQUEST_FORMAT, raw) }
  local from = request[7]
  request[7] = nil
  if from > #raw then return request end
  if request[KIND] == LEASE then
    request[7], request[8], request[9], request[10] = unpack_struct(LEASE_TAIL, raw, from)
  else
    request[7], request[8], request[9], request[10], request[11], request[12], request[13],
      request[14], request[15], request[16], request[17], request[18] =
      unpack_struct(TICKET_TAIL, raw, from)
  end
  return request
end
