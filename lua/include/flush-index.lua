--- @include "layout"
--- @include "place-target"
local function move_in(ctx, key, kind, places)
  local adds, gone = {}, {}
  for _, uid in ipairs(ctx[MOVED]) do
    local target = ctx[TARGET_CACHE][uid]
    local place, member = place_in(kind, target, places), member_in(kind, uid, target)
    target[IS_MOVED] = false
    if place then adds[#adds + 1], adds[#adds + 2] = place, member else gone[#gone + 1] = member end
  end
  if #adds > 0 then call('ZADD', ctx[KEY_LIST][key], unpack(adds)) end
  if #gone > 0 then call('ZREM', ctx[KEY_LIST][key], unpack(gone)) end
end

-- Puts the targets that moved in this step where they stand now, before the index is read again.
local function flush_index(ctx)
  if not ctx[MOVED] then return end
  move_in(ctx, ctx[INDEX], INDEX_KINDS[ctx[POLICY]], ctx[PLACES])
  if ctx[FILLING] > 0 then
    move_in(ctx, INDEX_A + INDEX_B - ctx[INDEX], INDEX_KINDS[ctx[FILLING]], ctx.next_places or 0)
  end
  ctx[MOVED], ctx[FRONT], ctx[LOWEST], ctx.total = false, false, false, nil
end
