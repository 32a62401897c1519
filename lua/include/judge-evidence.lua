--- @include "layout"
--- @include "suspect-target"
--- @include "quarantine-target"
--- @include "bury-target"
-- Whether data-path evidence may put one more target in quarantine: at most a quarter of those
-- that could serve, but always one, so that a fault near one activator cannot empty the service.
local function may_quarantine(ctx)
  local meta = redis.call('HMGET', ctx.keys[META], 'n:ready', 'n:suspected', 'evidence')
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
    redis.call('HINCRBY', ctx.keys[META], 'evidence', 1)
  elseif state == 'ready' then
    suspect_target(ctx, uid, target, details, 'evidence')
  end
end

-- What a target becomes by what an activator saw. The caller writes it unless it was buried.
local function judge_evidence(ctx, uid, target, details, evidence)
  if evidence == 'connect-failed' then
    judge_connect(ctx, uid, target, details)
  elseif evidence == 'misdirected' then
    bury_target(ctx, uid, target, details, 'misdirected')
  elseif evidence == 'pod-full' then
    target[HELD] = HELD_ALL
  elseif evidence == 'draining' then
    set_state(ctx, uid, target, details, 'draining', 'said by the pod')
  elseif target[STATE] ~= 'ready' then
    return
  elseif evidence == 'push-lost' then
    suspect_target(ctx, uid, target, details, 'silent')
  elseif evidence == 'reset' or ctx.now - details[RESET_AT] < MEMORY_OF_FAULTS then
    suspect_target(ctx, uid, target, details, 'evidence')
  else
    details[RESET_AT] = ctx.now
  end
end
