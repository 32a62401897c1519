--- @include "layout"
--- @include "flush-index"
--- @include "read-ahead"
-- First target of the index that is not excluded. Looks at no more than one beyond the exclusions;
-- in a batch it reads ahead for the steps to come.
local function choose_first(ctx, exclude)
  local ahead = ctx[AHEAD]
  if exclude.count == 0 and (ctx[FRONT] or ahead > 1) then
    local uid = next_ahead(ctx, -1)
    if uid then return uid end
    flush_index(ctx)
    return read_ahead(ctx, call('ZRANGE', ctx[KEY_LIST][ctx[INDEX]], 0, ahead - 1, 'WITHSCORES'))
  end
  flush_index(ctx)
  for _, uid in ipairs(call('ZRANGE', ctx[KEY_LIST][ctx[INDEX]], 0, exclude.count)) do
    if not exclude[uid] then return uid end
  end
end
