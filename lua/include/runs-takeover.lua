--- @include "runs-change"
-- Takes the runs of activators that are gone, so that others may go on with them.
local RUN_LEASE_MS, RUN_GAP_MS = 3000, 2500
local MOST_TAKEN, MOST_LAPSED = 32, 4

-- A run that may have reached a container is repeated only where its owner allowed that.
local function free_run(keys, id, now, kept_ms)
  local run = read_run(keys, id)
  if not run then return end
  if run.state == 'running' and not run.repeatable then
    keep_payload(keys, id, run, '')
    end_run(keys, run, 'unknown', 0, now)
    close_run(keys, id, run, now + kept_ms)
  else
    if run.endedAt == 0 then run.state = 'queued' end
    give_run(keys, id, run, '')
    redis.call('ZADD', keys[RUN_DUE], now, id)
  end
  write_run(keys, id, run)
end

-- True while the word of a lapsed lease counts: not right after a time in which nobody could renew.
local function may_take(keys, now)
  local last, hold = unpack(redis.call('HMGET', keys[RUN_COUNTS], 'at', 'hold'))
  hold = tonumber(hold or 0)
  if last and now - tonumber(last) > RUN_GAP_MS then hold = now + RUN_LEASE_MS end
  redis.call('HSET', keys[RUN_COUNTS], 'at', now, 'hold', hold)
  return now >= hold
end

local function take_over(keys, now, kept_ms)
  local lapsed = redis.call('ZRANGEBYSCORE', keys[RUN_OWNERS], 0, now, 'LIMIT', 0, MOST_LAPSED)
  for _, owner in ipairs(lapsed) do
    local held = redis.call('ZRANGEBYLEX', keys[RUN_OWNED], '[' .. owner .. ' ', '(' .. owner .. '!',
      'LIMIT', 0, MOST_TAKEN)
    for _, member in ipairs(held) do
      local id = string.sub(member, #owner + 2)
      redis.call('ZREM', keys[RUN_OWNED], member)
      free_run(keys, id, now, kept_ms)
    end
    if #held < MOST_TAKEN then redis.call('ZREM', keys[RUN_OWNERS], owner) end
  end
end
