-- Time of the step in whole ms.
local function now_ms(ctx)
  return math.floor(ctx[NOW] / 1000)
end
