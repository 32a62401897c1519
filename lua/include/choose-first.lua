--- @include "layout"
--- @include "flush-index"
--- @include "read-ahead"
-- How many targets a batch still needs: one is enough where a target takes many leases.
local function needed_ahead(ctx)
  if ctx[POLICY] == FIRST_AVAILABLE and not ctx[IS_SINGLE] or ctx[FILLING] > 0 then return 1 end
  return ctx[AHEAD]
end

-- First target of the index that is not excluded. Looks at no more than one beyond the exclusions;
-- in a batch it reads ahead for the steps to come.
local function choose_first(ctx, exclude)
  local none = exclude.count == 0
  local uid = none and next_ahead(ctx, -1)
  if uid then return uid end
  flush_index(ctx)
  local key, ahead = ctx[KEY_LIST][ctx[INDEX]], needed_ahead(ctx)
  if none and ahead > 1 then return read_ahead(ctx, call('ZRANGE', key, 0, ahead - 1)) end
  for _, found in ipairs(call('ZRANGE', key, 0, exclude.count)) do
    if not exclude[found] then return found end
  end
end
