--- @include "layout"
--- @include "choose-of-two"
-- Draws the pairs of all steps of a row and reads them at once; they hold until the index changes.
-- Only from among ready targets with a free slot, where nearly all choices are.
local function draw_row(ctx, args, at)
  flush_index(ctx)
  local key, count = ctx[KEY_LIST][ctx[INDEX]], band_ends(ctx)[1]
  if count < 2 then return end
  local drawn, length = {}, 0
  while args[at] == 'acquire' do
    local first, second = draw_ranks(args[at + 2], count)
    drawn[length + 1] = call('ZRANGE', key, first, first)[1]
    drawn[length + 2], length, at = call('ZRANGE', key, second, second)[1], length + 2, at + 3
  end
  fetch_targets(ctx, drawn)
  drawn.at, ctx.drawn = 0, drawn
end
