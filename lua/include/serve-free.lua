--- @include "layout"
--- @include "flush-index"
--- @include "read-target"
--- @include "settle-target"
-- Hands the slots of the first targets of the index to who waits, where slots came free without a
-- step of their own: after a loss, or with more places per target.
local function serve_free(ctx, most)
  if ctx[WAITING] == 0 then return end
  flush_index(ctx)
  for _, member in ipairs(call('ZRANGE', ctx[KEY_LIST][ctx[INDEX]], 0, most - 1)) do
    if ctx[WAITING] == 0 or ctx[BUDGET_LEFT] <= 0 then return end
    local uid = INDEX_KINDS[ctx[POLICY]] == BY_WORK and string.sub(member, 5) or member
    settle_target(ctx, uid, read_target(ctx, uid))
  end
end
