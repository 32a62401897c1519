-- The stages that a workflow is expected to pass, as text: a line per entry, `stage optional
-- probability us`. The rule is that of common/hexgen/template.ts.
local function parse_template(text)
  local entries = {}
  for stage, optional, probability, us in string.gmatch(text, '(%S+) (%d) (%S+) (%S+)\n') do
    entries[#entries + 1] = { stage = stage, is_optional = optional == '1',
      probability = tonumber(probability), us = tonumber(us) }
  end
  return entries
end

local function format_template(entries)
  local lines = {}
  for i, entry in ipairs(entries) do
    lines[i] = string.format('%s %d %.17g %.17g\n', entry.stage, entry.is_optional and 1 or 0,
      entry.probability, entry.us)
  end
  return table.concat(lines)
end

-- What remains once a stage has started: its first entry goes, and the optional ones before it. A
-- stage that is not in the template removes nothing.
local function advance_template(entries, stage)
  local started
  for i, entry in ipairs(entries) do
    if entry.stage == stage then
      started = i
      break
    end
  end
  local rest = {}
  for i, entry in ipairs(entries) do
    local is_kept = not started or i > started or (i < started and not entry.is_optional)
    if is_kept then rest[#rest + 1] = entry end
  end
  return rest
end
