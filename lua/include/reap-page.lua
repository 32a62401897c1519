--- @include "layout"
-- One page of the leases and tickets of a revision, from where the last call for this activator
-- stopped, as a flat list of ids and records. There is no index by activator: every request would
-- pay for it, and deaths are rare. The end of its lease tells this death from an earlier one.
local function reap_page(ctx, activator_id, expiry)
  local death = expiry .. ' ' .. activator_id
  local cursor, of = string.match(redis.call('HGET', ctx[KEY_LIST][META], 'reap') or '', '^(%d+) (.*)$')
  if of ~= death then cursor = '0' end
  local page = redis.call('HSCAN', ctx[KEY_LIST][REQUESTS], cursor, 'COUNT', MOST_OWNED)
  if page[1] == '0' then
    redis.call('HDEL', ctx[KEY_LIST][META], 'reap')
    redis.call('ZREM', ctx[KEY_LIST][ACTIVATORS], activator_id)
  else
    redis.call('HSET', ctx[KEY_LIST][META], 'reap', page[1] .. ' ' .. death)
  end
  return page[2]
end
