--- @include "layout"
--- @include "choose-first"
--- @include "choose-next"
--- @include "choose-of-two"
--- @include "draw-row"
--- @include "exclude-set"
--- @include "free-slots"
--- @include "add-plain"
--- @include "place-leased"
--- @include "record-event"
local CHOICES = { choose_first, choose_next, choose_first, choose_of_two }

-- Steps `acquire` of a batch that stand one behind the other in `args` from `at` on, each as
-- `acquire_plain` takes it, with what they share made once. Takes as many as are the usual case,
-- answers each in the reply, and returns their number.
local function acquire_row(ctx, args, at, reply)
  local choose, known, leases = CHOICES[ctx[POLICY]], ctx[REQUEST_CACHE], ctx[NEW_LEASES]
  if not choose or ctx[PLACES] > 0 then return 0 end
  local stored, answered, taken, last = #leases, #reply, 0, nil
  local target, slots, record, answer
  if choose == choose_of_two then draw_row(ctx, args, at) end
  while args[at] == 'acquire' do
    local id = args[at + 1]
    local uid = not known[id] and (ctx[SAME] or choose(ctx, NOTHING, args[at + 2]))
    if not uid then break end
    if uid ~= last then
      target, last = read_target(ctx, uid), uid
      slots = run_slots(target)
      record, answer = plain_lease(ctx, args[2], uid), uid .. ' ' .. target[ADDRESS]
    end
    target[IN_FLIGHT], slots, taken, at = target[IN_FLIGHT] + 1, slots - 1, taken + 1, at + 3
    leases[stored + 1], leases[stored + 2], stored = id, record, stored + 2
    known[id], reply[answered + taken], ctx[AHEAD] = record, answer, ctx[AHEAD] - 1
    ctx[CURSOR] = ctx[POLICY] == ROUND_ROBIN and target[ADMISSION] or ctx[CURSOR]
    place_leased(ctx, uid, target, slots <= 0)
    if ctx[EVENTS_ON] then record_event(ctx, 'acquire', uid, id, target) end
  end
  ctx.drawn = nil
  if taken == 0 then return 0 end
  note_holder(ctx, args[2])
  ctx[IS_SINGLE] = target[CAPACITY] == 1
  ctx[BUSY], ctx[ARRIVALS] = ctx[BUSY] + taken, ctx[ARRIVALS] + taken
  return taken
end
