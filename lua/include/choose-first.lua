--- @include "layout"
--- @include "flush-index"
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

-- First target of the index that is not excluded. Looks at no more than one beyond the exclusions;
-- in a batch it reads ahead for the steps to come.
local function choose_first(ctx, exclude)
  local ahead = ctx[AHEAD] or 1
  if exclude.count == 0 and (ctx[FRONT] or ahead > 1) then
    local uid = next_ahead(ctx, -1)
    if uid then return uid end
    flush_index(ctx)
    ctx[FRONT] = call('ZRANGE', ctx[KEY_LIST][ctx[INDEX]], 0, ahead - 1, 'WITHSCORES')
    ctx[FRONT].at = 1
    return ctx[FRONT][1]
  end
  flush_index(ctx)
  for _, uid in ipairs(call('ZRANGE', ctx[KEY_LIST][ctx[INDEX]], 0, exclude.count)) do
    if not exclude[uid] then return uid end
  end
end
