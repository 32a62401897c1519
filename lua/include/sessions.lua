--- @include "layout"
-- Which target served each session last: `n\1`, session, `\0`, uid, instant in the owned set, and
-- `s\1`, instant, session, by which the longest unused is found. Kept for an hour without use.
local SESSION_KEPT, SESSION_FRESH, MOST_SESSIONS = 3600000000, 60000000, 10000

local function forget_session(ctx, session, uid, at)
  local instant = pack_struct('>d', at)
  call('ZREM', ctx[KEY_LIST][OWNED], 'n\1' .. session .. '\0' .. uid .. instant, 's\1' .. instant .. session)
end

-- Target of a session and the instant of its last use, however long ago; nil when there is none.
local function read_session(ctx, session)
  local prefix = 'n\1' .. session .. '\0'
  local member = call('ZRANGEBYLEX', ctx[KEY_LIST][OWNED], '[' .. prefix, '(n\1' .. session .. '\1',
    'LIMIT', 0, 1)[1]
  if not member then return nil end
  return string.sub(member, #prefix + 1, -9), (unpack_struct('>d', member, #member - 7))
end

-- A new session makes room: the longest unused goes, when it is old or there are too many.
local function drop_unused(ctx)
  local oldest = call('ZRANGEBYLEX', ctx[KEY_LIST][OWNED], '[s\1', '(s\2', 'LIMIT', 0, 1)[1]
  local at, session = unpack_struct('>d', oldest, 3), string.sub(oldest, 11)
  local is_old = ctx[NOW] - at > SESSION_KEPT
  if is_old or call('ZLEXCOUNT', ctx[KEY_LIST][OWNED], '[s\1', '(s\2') > MOST_SESSIONS then
    forget_session(ctx, session, read_session(ctx, session), at)
  end
end

-- A session was given a slot on a target.
local function bind_session(ctx, session, uid)
  local known, at = read_session(ctx, session)
  if known == uid and ctx[NOW] - at < SESSION_FRESH then return end
  if known then forget_session(ctx, session, known, at) end
  local instant = pack_struct('>d', ctx[NOW])
  call('ZADD', ctx[KEY_LIST][OWNED], 0, 'n\1' .. session .. '\0' .. uid .. instant, 0,
    's\1' .. instant .. session)
  if not known then drop_unused(ctx) end
end
