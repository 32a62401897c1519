--- @include "layout"
--- @include "request-record"
-- Lease or ticket of this id; nil when there is none. Read once in a step.
local function read_request(ctx, request_id)
  local request = ctx[REQUEST_CACHE][request_id]
  if request == nil then
    local raw = call('HGET', ctx[KEY_LIST][REQUESTS], request_id)
    request = raw and unpack_request(raw)
    ctx[REQUEST_CACHE][request_id] = request
  elseif type(request) == 'string' then
    request = unpack_request(request)
    ctx[REQUEST_CACHE][request_id] = request
  end
  return request or nil
end

-- Reads several at once, at the start of a step.
local function fetch_requests(ctx, ids)
  local cache, raw = ctx[REQUEST_CACHE], call('HMGET', ctx[KEY_LIST][REQUESTS], unpack(ids))
  for i = 1, #ids do cache[ids[i]] = raw[i] end
end
