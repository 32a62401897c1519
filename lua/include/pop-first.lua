--- @include "layout"
--- @include "read-target"
-- Whether a lease moves the first target of the index or ends its place there: then it is taken out
-- by the call that finds it. Under `first-available` the last lease tells whether pods have one slot.
local function is_popped(ctx, policy)
  if ctx[IS_BATCH] or ctx[FILLING] > 0 then return false end
  return INDEX_KINDS[policy] == BY_LOAD or policy == FIRST_AVAILABLE and ctx[IS_SINGLE]
end

local function pop_first(ctx)
  local uid = call('ZPOPMIN', ctx[KEY_LIST][ctx[INDEX]])[1]
  if uid then read_target(ctx, uid)[PLACE] = false end
  return uid
end
