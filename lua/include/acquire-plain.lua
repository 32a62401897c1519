--- @include "layout"
--- @include "choose-target"
--- @include "pop-first"
--- @include "exclude-set"
--- @include "read-target"
--- @include "add-plain"
--- @include "write-target"
--- @include "record-event"
-- The usual case, without what others need: a request that comes for the first time, says nothing of
-- itself, and finds a free slot. Nil when it is another case: nothing has changed then.
local function acquire_plain(ctx, id, holder, random)
  local policy = ctx[POLICY]
  if policy == SPEED_AWARE or ctx[PLACES] > 0 or ctx[REQUEST_CACHE][id] then return nil end
  local popped = is_popped(ctx, policy)
  local uid = popped and pop_first(ctx) or ctx[SAME] or choose_target(ctx, random, NOTHING)
  if not uid then return nil end
  local target = read_target(ctx, uid)
  if not add_plain(ctx, id, holder, uid) then
    if popped then
      write_target(ctx, uid, target)
      flush_index(ctx)
    end
    return nil
  end
  target[IN_FLIGHT] = target[IN_FLIGHT] + 1
  ctx[BUSY], ctx[ARRIVALS] = ctx[BUSY] + 1, ctx[ARRIVALS] + 1
  if policy == ROUND_ROBIN then ctx[CURSOR] = target[ADMISSION] end
  local is_full = run_slots(target) <= 0
  if popped or is_full or INDEX_KINDS[policy] == BY_LOAD or ctx[FILLING] > 0 then
    write_target(ctx, uid, target)
  else
    keep_target(ctx, uid, target)
    -- It stands first until a target moves.
    if policy == FIRST_AVAILABLE then ctx[SAME] = uid end
  end
  ctx[IS_SINGLE] = target[CAPACITY] == 1
  if ctx[EVENTS_ON] then record_event(ctx, 'acquire', uid, id, target) end
  return uid, target
end
