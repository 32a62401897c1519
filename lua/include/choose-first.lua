--- @include "layout"
-- First target of an index that is not excluded. Looks at no more than one beyond the exclusions.
local function choose_first(ctx, index, exclude)
  local uids = redis.call('ZRANGE', ctx.keys[index], 0, exclude.count)
  for _, uid in ipairs(uids) do
    if not exclude[uid] then return uid end
  end
end
