--- @include "layout"
--- @include "place-target"
local function move_in(ctx, key, kind, places)
  local adds, gone, added, cache = {}, {}, 0, ctx[TARGET_CACHE]
  local is_in_force = key == ctx[INDEX]
  for _, uid in ipairs(ctx[MOVED]) do
    local target = cache[uid]
    local place, member = target[PLACE], uid
    if not is_in_force then place = place_in(kind, target, places) end
    if kind == BY_WORK then member = member_in(kind, uid, target) end
    target[IS_MOVED] = false
    if place then
      adds[added + 1], adds[added + 2], added = place, member, added + 2
    else
      gone[#gone + 1] = member
    end
  end
  if added > 0 then call('ZADD', ctx[KEY_LIST][key], unpack(adds)) end
  if gone[1] then call('ZREM', ctx[KEY_LIST][key], unpack(gone)) end
end

-- Puts the targets that moved in this step where they stand now, before the index is read again.
local function flush_index(ctx)
  if not ctx[MOVED] then return end
  move_in(ctx, ctx[INDEX], INDEX_KINDS[ctx[POLICY]], ctx[PLACES])
  if ctx[FILLING] > 0 then
    move_in(ctx, INDEX_A + INDEX_B - ctx[INDEX], INDEX_KINDS[ctx[FILLING]], ctx.next_places or 0)
  end
  ctx[MOVED], ctx[FRONT], ctx[LOWEST], ctx.bands, ctx.drawn = false, false, false, nil, nil
end
