--- @include "layout"
--- @include "place-target"
--- @include "details"
--- @include "profiles"
--- @include "read-target"
--- @include "write-target"
--- @include "flush"
-- A policy that has its index in another order, or another number of places, is in force when the
-- other index is complete. Until then the old one is, and every step keeps both. One call fills in a
-- bounded number of targets.
local function fill_index(ctx, wanted, places)
  if ctx[FILLING] ~= wanted or (ctx.next_places or 0) ~= places then
    call('UNLINK', ctx[KEY_LIST][INDEX_A + INDEX_B - ctx[INDEX]])
    call('HDEL', ctx[KEY_LIST][META], 'fill')
    ctx[FILLING], ctx.next_places = wanted, places
  end
  local cursor = call('HGET', ctx[KEY_LIST][META], 'fill') or '0'
  local page = call('HSCAN', ctx[KEY_LIST][TARGETS], cursor, 'COUNT', MOST_FILLED)
  for i = 1, #page[2], 2 do
    local uid = page[2][i]
    local target = read_target(ctx, uid)
    if wanted == SPEED_AWARE and target[STATE] ~= 'deleted' then
      know_profile(ctx, target, read_details(ctx, uid)[CARD])
    end
    write_target(ctx, uid, target)
  end
  flush(ctx)
  if page[1] ~= '0' then
    call('HSET', ctx[KEY_LIST][META], 'fill', page[1])
    return
  end
  call('UNLINK', ctx[KEY_LIST][ctx[INDEX]])
  call('HDEL', ctx[KEY_LIST][META], 'fill')
  ctx[INDEX] = INDEX_A + INDEX_B - ctx[INDEX]
  ctx[POLICY], ctx[PLACES], ctx[FILLING], ctx.next_places = wanted, places, 0, places
  -- What was read stands where the old index had it.
  ctx[TARGET_CACHE], ctx.packed = {}, nil
end

-- Brings a policy and a number of places in force, or closer to it.
local function apply_policy(ctx, wanted, places)
  local is_kept = INDEX_KINDS[ctx[POLICY]] == INDEX_KINDS[wanted] and places == ctx[PLACES]
  if not is_kept then return fill_index(ctx, wanted, places) end
  if ctx[FILLING] > 0 then
    call('UNLINK', ctx[KEY_LIST][INDEX_A + INDEX_B - ctx[INDEX]])
    call('HDEL', ctx[KEY_LIST][META], 'fill')
  end
  ctx[POLICY], ctx[FILLING], ctx.next_places = wanted, 0, places
end
