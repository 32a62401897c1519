--- @include "layout"
--- @include "read-target"
-- Next target of what was read ahead of the index, above a score; nil when that holds no more, as
-- after another target came to stand before it.
local function next_ahead(ctx, above)
  local front = ctx[FRONT]
  if not front then return nil end
  while front.at < #front do
    local uid, score = front[front.at], front[front.at + 1]
    if type(score) == 'string' then
      score = tonumber(score)
      front[front.at + 1] = score
    end
    local target = ctx[TARGET_CACHE][uid]
    if score > above and (not target or target[PLACE] == score) then
      if ctx[LOWEST] and ctx[LOWEST] < score then return nil end
      return uid
    end
    front.at = front.at + 2
  end
end

-- Keeps what was read of the index, and reads the targets at once where each is used once. The first.
local function read_ahead(ctx, front)
  if not front[1] then return nil end
  front.at = 1
  ctx[FRONT] = front
  if ctx[POLICY] ~= FIRST_AVAILABLE and #front > 2 then
    local uids = {}
    for i = 1, #front, 2 do uids[#uids + 1] = front[i] end
    fetch_targets(ctx, uids)
  end
  return front[1]
end
