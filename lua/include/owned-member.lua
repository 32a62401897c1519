-- Member of the index of what somebody owns: `a` leases and tickets of an activator, `l` lapsed
-- leases of a target. The separator cannot be part of an id.
local function owned_member(kind, owner, request_id)
  return kind .. '\1' .. owner .. '\1' .. request_id
end
