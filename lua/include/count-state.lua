--- @include "layout"
local function is_counted(state) return state ~= '' and state ~= 'deleted' end

-- Targets of all states together.
local function count_of_targets(ctx)
  ctx.targets = ctx.targets or tonumber(call('HGET', ctx[KEY_LIST][META], 'n:all') or 0)
  return ctx.targets
end

-- Targets per state, and of all states together, are counted as they change.
local function count_state(ctx, old, state)
  local joins, leaves = is_counted(state), is_counted(old)
  if leaves then call('HINCRBY', ctx[KEY_LIST][META], 'n:' .. old, -1) end
  if joins then call('HINCRBY', ctx[KEY_LIST][META], 'n:' .. state, 1) end
  if joins ~= leaves then
    ctx.targets = call('HINCRBY', ctx[KEY_LIST][META], 'n:all', joins and 1 or -1)
  end
end
