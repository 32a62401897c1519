--- @include "layout"
--- @include "set-state"
--- @include "suspect-target"
--- @include "bury-target"
--- @include "judge-connect"
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
  elseif evidence == 'push-lost' and target[STATE] == 'suspected' then
    -- Refused before and silent now: the next refusal, or a failed probe, deletes it.
    details[SUSPECT] = 'silent'
    redis.call('ZADD', ctx[KEY_LIST][TIMERS], ctx[NOW], 'p' .. uid)
  elseif target[STATE] ~= 'ready' then
    return
  elseif evidence == 'push-lost' then
    suspect_target(ctx, uid, target, details, 'silent')
  elseif evidence == 'reset' or ctx[NOW] - details[RESET_AT] < MEMORY_OF_FAULTS then
    suspect_target(ctx, uid, target, details, 'evidence')
  else
    details[RESET_AT] = ctx[NOW]
  end
end
