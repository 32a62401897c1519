--- @include "layout"
--- @include "free-slots"
--- @include "read-target"
--- @include "sessions"
-- Behind the estimates of a call stands its session: \3, `s` (soft) or `t` (strict), its name; in a
-- ticket that waits for one target also \4 and the uid of that.
local function session_of(text)
  return string.match(text or '', '\3([st])([^\4]*)')
end

local function bound_of(ticket)
  return ticket[WORKS] and string.match(ticket[WORKS], '\4(.*)$')
end

-- Target of a session that is not over.
local function home_of(ctx, session)
  local uid, at = read_session(ctx, session)
  return uid and ctx[NOW] - at <= SESSION_KEPT and uid or nil
end

local function is_gone(target)
  return not target or target[STATE] == 'deleted' or target[STATE] == 'draining'
end

-- The session's target, when the call may run there now. Else nil and, under strict affinity, the
-- target that it has to wait for, or `false` when that is gone for good. Soft affinity never waits, not
-- in a local queue either.
local function session_choice(ctx, details, exclude)
  local uid = home_of(ctx, details.session)
  if not uid then return nil end
  local target, is_strict = read_target(ctx, uid), details.affinity == 't'
  if is_gone(target) then
    if is_strict then return nil, false end
    return nil
  end
  local slots = is_strict and free_slots(ctx, target) or run_slots(target)
  local takes = slots > 0 and not exclude[uid] and (is_strict or target[STATE] == 'ready')
  local room = target[KV_FREE]
  if takes and (is_strict or not room or room >= details.tokens) then return uid end
  return nil, is_strict and uid or nil
end

-- The other target on which the session of a waiting call is at home, and which it has to wait for.
local function home_elsewhere(ctx, uid, ticket)
  local affinity, session = session_of(ticket[WORKS])
  local home = affinity == 't' and home_of(ctx, session)
  return home and home ~= uid and home or nil
end
