--- @include "layout"
-- Refuses to touch a revision whose state is of a newer layout than this library knows, as long as
-- somebody uses it; `now` in us, nil where only reading is asked for. A revision that no newer version
-- has used for two minutes may be taken back, so that going back to an older version needs no hand.
local function fence(meta, now)
  local marks = redis.call('HMGET', meta, 'layout', 'layoutAt')
  if tonumber(marks[1] or 0) <= LAYOUT then return end
  if now and now - tonumber(marks[2] or 0) > LAYOUT_HELD then return end
  error({ err = 'NEWERLAYOUT the state has layout ' .. marks[1]
    .. ', this library writes ' .. LAYOUT })
end

-- Says that this layout is in use.
local function mark_layout(ctx)
  redis.call('HSET', ctx[KEY_LIST][META], 'layout', LAYOUT, 'layoutAt', ctx[NOW])
end
