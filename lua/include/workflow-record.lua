-- A workflow is a hash of its own key: figures and texts as fields of their names, and `c:<call>` for
-- each of its calls: `o` or `x` (open, closed), then ready budget rest index. `fanout` is the number of
-- calls that the newest stage was said to have, `done` how many of them have ended.
local FIGURES = { 'arrive', 'slo', 'deadline', 'index', 'open', 'ready', 'budget', 'rest', 'calls',
  'final', 'ended', 'fanout', 'done' }
local TEXTS = { 'last', 'template', 'stages', 'prints' }
-- What is remembered of one workflow, and for how long after its end.
local MOST_CALLS = 4096
local ENDED_MS = 60000

-- Time of the server in us, or the one given by a test.
local function workflow_time(given)
  local now = tonumber(given) or 0
  if now > 0 then return now end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function new_workflow(now, template)
  return { arrive = now, slo = 0, deadline = 0, index = -1, open = 0, ready = now, budget = 0,
    rest = 0, calls = 0, final = 0, ended = 0, fanout = 0, done = 0, last = '', template = template,
    stages = '', prints = '' }
end

-- Nil when there is none.
local function read_workflow(key)
  local values = redis.call('HMGET', key, unpack(FIGURES))
  if not values[1] then return nil end
  local workflow, texts = {}, redis.call('HMGET', key, unpack(TEXTS))
  for i, name in ipairs(FIGURES) do workflow[name] = tonumber(values[i] or 0) end
  for i, name in ipairs(TEXTS) do workflow[name] = texts[i] or '' end
  return workflow
end

local function write_workflow(key, workflow, call_id, call_record)
  local fields = {}
  for _, name in ipairs(FIGURES) do
    fields[#fields + 1], fields[#fields + 2] = name, string.format('%.17g', workflow[name])
  end
  for _, name in ipairs(TEXTS) do fields[#fields + 1], fields[#fields + 2] = name, workflow[name] end
  if call_record then fields[#fields + 1], fields[#fields + 2] = 'c:' .. call_id, call_record end
  redis.call('HSET', key, unpack(fields))
end
