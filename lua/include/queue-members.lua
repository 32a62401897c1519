--- @include "layout"
--- @include "session-target"
-- Names in the queue, which is in order of names: `a` of every ticket, by arrival, but `b` and a uid of
-- one that waits for one target; `k` of a ranked one, by class, tenant, level, key and arrival; `x` of one that will be lost, by the instant up to
-- which it is not; `t` of a tenant, by its virtual time. Numbers are written so that they sort.
local function bound_prefix(uid) return 'b' .. uid .. '\0' end

local function age_member(id, ticket)
  local bound = bound_of(ticket)
  return (bound and bound_prefix(bound) or 'a') .. pack_struct('>dI4', ticket[ARRIVED_AT], ticket[NUMBER]) .. id
end

local function ranked_member(id, ticket)
  return 'k' .. ticket[CLASS] .. ticket[TENANT] .. '\0' .. string.char(ticket[LEVEL])
    .. pack_struct('>ddI4', ticket[KEY] + KEY_OFFSET, ticket[ARRIVED_AT], ticket[NUMBER]) .. id
end

-- Nil for a ticket that is never lost: it has no deadline, or is lost already.
local function crossing_member(ctx, id, ticket)
  if ctx[ORDER] ~= URGENCY or ticket[CLASS] ~= 0 or ticket[DEADLINE] == 0 then return nil end
  return 'x' .. pack_struct('>d', math.max(0, ticket[DEADLINE] - 0.5 * ticket[REST])) .. id
end

local function id_of_age(member) return string.sub(member, 14) end
local function id_of_crossing(member) return string.sub(member, 10) end

local function id_of_ranked(member)
  return string.sub(member, string.find(member, '\0', 3, true) + 22)
end

-- Prefix of the ranked tickets of a class, of one tenant or of all.
local function rank_prefix(class, tenant)
  return 'k' .. class .. (tenant and tenant .. '\0' or '')
end

-- First member behind all that begin with a prefix.
local function after_prefix(prefix)
  return string.sub(prefix, 1, -2) .. string.char(string.byte(prefix, -1) + 1)
end
