--- @include "layout"
-- Up to `limit` request ids of an owner, and the length of what stands before each id.
local function list_owned(ctx, kind, owner, limit)
  local prefix = kind .. '\1' .. owner
  local members = redis.call('ZRANGEBYLEX', ctx[KEY_LIST][OWNED], '[' .. prefix .. '\1',
    '(' .. prefix .. '\2', 'LIMIT', 0, limit)
  for i, member in ipairs(members) do members[i] = string.sub(member, #prefix + 2) end
  return members
end
