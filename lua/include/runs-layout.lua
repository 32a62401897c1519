-- What the scripts of asynchronous runs share: positions of their keys, the time, and the record of
-- a run, which is JSON because it changes a few times in its life and people read it.

-- KEYS of every script of runs, in this order.
local RUN_COUNTS, RUN_REQUESTS, RUN_STATES, RUN_PAYLOADS, RUN_SECRETS = 1, 2, 3, 4, 5
local RUN_ACCEPTED, RUN_OWNED, RUN_OWNERS, RUN_DUE = 6, 7, 8, 9

-- Time of the server in ms, or the one given by a test in us.
local function run_time(given)
  local now = tonumber(given) or 0
  if now > 0 then return math.floor(now / 1000) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function read_run(keys, id)
  local text = redis.call('HGET', keys[RUN_STATES], id)
  return text and cjson.decode(text)
end

local function write_run(keys, id, run)
  redis.call('HSET', keys[RUN_STATES], id, cjson.encode(run))
end

-- The run when it is this owner's to change, else nil: a late word of an old owner changes nothing.
local function own_run(keys, id, owner)
  local run = read_run(keys, id)
  if run and run.owner == owner then return run end
  return nil
end
