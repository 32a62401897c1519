--- @include "layout"
-- The figures of a revision that every step reads and writes.
local function store_run(ctx)
  redis.call('HSET', ctx.keys[META], 'run', struct.pack(RUN_FORMAT, ctx.now, ctx.clock, ctx.hold,
    ctx.integral, ctx.arrivals, ctx.cursor, ctx.waiting, ctx.busy, ctx.policy,
    ctx.filling, ctx.events and 1 or 0))
end
