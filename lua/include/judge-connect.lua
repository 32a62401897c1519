--- @include "layout"
--- @include "suspect-target"
--- @include "quarantine-target"
--- @include "bury-target"
-- Whether data-path evidence may put one more target in quarantine: at most a quarter of those
-- that could serve, but always one, so that a fault near one activator cannot empty the service.
local function may_quarantine(ctx)
  local meta = redis.call('HMGET', ctx[KEY_LIST][META], 'n:ready', 'n:suspected', 'evidence')
  local out = tonumber(meta[3] or 0)
  local usable = tonumber(meta[1] or 0) + tonumber(meta[2] or 0) + out
  return out < math.max(1, math.floor(usable / 4))
end

local function judge_connect(ctx, uid, target, details)
  local state = target[STATE]
  if state == 'suspected' and details[SUSPECT] == 'silent' then
    bury_target(ctx, uid, target, details, 'silent')
  elseif (state == 'ready' or state == 'suspected') and may_quarantine(ctx) then
    quarantine_target(ctx, uid, target, details, 'connect failed')
    details[Q_EVIDENCE] = 1
    redis.call('HINCRBY', ctx[KEY_LIST][META], 'evidence', 1)
  elseif state == 'ready' then
    suspect_target(ctx, uid, target, details, 'evidence')
  end
end
