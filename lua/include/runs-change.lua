--- @include "runs-layout"
-- Changes of one run that several scripts make.

-- Names who works on the run; empty for nobody, and then `due` says when somebody must look.
local function give_run(keys, id, run, owner)
  if run.owner ~= '' then redis.call('ZREM', keys[RUN_OWNED], run.owner .. ' ' .. id) end
  run.owner = owner
  if owner == '' then return end
  redis.call('ZADD', keys[RUN_OWNED], 0, owner .. ' ' .. id)
  redis.call('ZREM', keys[RUN_DUE], id)
end

-- Replaces the bytes kept for the run, and the account of them.
local function keep_payload(keys, id, run, payload)
  redis.call('HINCRBY', keys[RUN_COUNTS], 'bytes', #payload - run.bytes)
  run.bytes = #payload
  if payload == '' then redis.call('HDEL', keys[RUN_PAYLOADS], id)
  else redis.call('HSET', keys[RUN_PAYLOADS], id, payload) end
end

local function end_run(keys, run, state, status, now)
  run.state, run.status, run.endedAt = state, status, now
  redis.call('HINCRBY', keys[RUN_COUNTS], 'open', -1)
end

-- Nobody works on it any more; it is forgotten when `until_ms` has come.
local function close_run(keys, id, run, until_ms)
  give_run(keys, id, run, '')
  redis.call('HDEL', keys[RUN_SECRETS], id)
  redis.call('ZADD', keys[RUN_DUE], until_ms, id)
end

local function forget_run(keys, id, run)
  give_run(keys, id, run, '')
  keep_payload(keys, id, run, '')
  if run.endedAt == 0 then redis.call('HINCRBY', keys[RUN_COUNTS], 'open', -1) end
  redis.call('HDEL', keys[RUN_STATES], id)
  redis.call('HDEL', keys[RUN_REQUESTS], id)
  redis.call('HDEL', keys[RUN_SECRETS], id)
  redis.call('ZREM', keys[RUN_DUE], id)
  redis.call('ZREM', keys[RUN_ACCEPTED], id)
end
