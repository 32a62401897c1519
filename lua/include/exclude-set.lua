-- Shared and never changed: most requests exclude nothing.
local NOTHING = { count = 0 }

-- Uids in a text, separated by spaces, as a list that is also a set, with their number.
local function exclude_set(text)
  if not text or text == '' then return NOTHING end
  local set = { count = 0 }
  for uid in string.gmatch(text, '%S+') do
    set.count = set.count + 1
    set[set.count] = uid
    set[uid] = true
  end
  return set
end
