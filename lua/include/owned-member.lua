-- Member of the index of what is kept in order of names: `l` lapsed leases of a target, `e` evicted
-- targets. The separator cannot be part of an id.
local function owned_member(kind, owner, request_id)
  return kind .. '\1' .. owner .. '\1' .. request_id
end
