--- @include "layout"
--- @include "flush"
--- @include "rest-queue"
local function pack_tail(ctx)
  return pack_struct(RUN_TAIL, ctx[ORDER], ctx.share or 0, ctx.limit or 0, ctx[PLACES],
    ctx.next_places or 0, ctx[IS_RANKED] and 1 or 0, ctx.shared and 1 or 0, ctx.rekey and 1 or 0,
    ctx.virtual or 0)
end

-- Ends a step: writes what it changed, and the figures that every step reads.
local function store_run(ctx)
  flush(ctx)
  -- Nobody waits any more: the next one begins a plain queue, unless the order ranks.
  if ctx[IS_RANKED] and ctx[WAITING] == 0 then rest_queue(ctx) end
  local flags = (ctx[EVENTS_ON] and 1 or 0) + (ctx[INDEX] == INDEX_B and 2 or 0)
    + (ctx[IS_SINGLE] and 8 or 0)
  local tail
  if ctx[ORDER] ~= FIFO or ctx[IS_RANKED] or ctx[PLACES] > 0 or (ctx.next_places or 0) > 0 then
    flags, tail = flags + 4, pack_tail(ctx)
  end
  ctx[FLAGS] = flags
  local run = pack_struct(RUN_FORMAT, unpack(ctx, NOW, NOTED))
  call('HSET', ctx[KEY_LIST][META], RUN_FIELD, tail and run .. tail or run)
end
