--- @include "begin"
--- @include "commit"
--- @include "call-details"
--- @include "choose-target"
--- @include "exclude-set"
--- @include "read-request"
--- @include "add-request"
--- @include "new-lease"
--- @include "reply-request"
--- @include "write-target"
--- @include "enqueue"
-- Takes one slot on the target that was chosen.
local function lease_target(ctx, request, uid)
  local target, details = read_target(ctx, uid), request.call
  local class = details and class_of(ctx, details) or 0
  local lease, work = new_lease(ctx, uid, target, request, details, class)
  if not add_request(ctx, request.id, request.holder, lease) then
    return reply_request(ctx, read_request(ctx, request.id))
  end
  count_lease(ctx, request.id, lease, target, work, details and details.tokens)
  if details and details.session then bind_session(ctx, details.session, uid) end
  if not request.known_arrival then ctx[ARRIVALS] = ctx[ARRIVALS] + 1 end
  if ctx[POLICY] == ROUND_ROBIN then move_cursor(ctx, target) end
  write_target(ctx, uid, target)
  commit(ctx, 'acquire', uid, request.id, target)
  return reply_lease(lease, target)
end

-- The target that the session or the policy names; nil, and `false` when its session is lost.
local function choose_for(ctx, request)
  local exclude, details = exclude_set(request.exclude), request.call
  if details and details.session then
    local home, bound = session_choice(ctx, details, exclude)
    details.bound = bound
    if home or bound ~= nil then return home, bound end
  end
  return choose_target(ctx, request.random, exclude, details)
end

-- Takes one slot on the target that the policy names, or a place in the queue.
-- `request`: id, holder, random, exclude, may_wait, known_arrival of one that was here before, and
-- the text of its details, empty for a plain one.
local function acquire(ctx, request)
  request.arrived_at = request.known_arrival or ctx[NOW]
  if request.details ~= '' then
    local details = parse_call(request.details, request.arrived_at)
    request.call = details
    local is_refused = details.rejects and is_lost(ctx, details.deadline, details.rest)
    if is_refused and not read_request(ctx, request.id) then return { 'deadline-unreachable' } end
  end
  local uid, bound = choose_for(ctx, request)
  if uid and not ctx[REQUEST_CACHE][request.id] then return lease_target(ctx, request, uid) end
  local known = read_request(ctx, request.id)
  if known then return reply_request(ctx, known) end
  if bound == false then return { 'session-lost' } end
  return request.may_wait and enqueue(ctx, request) or { 'no-slot' }
end
