--- @include "layout"
--- @include "enter-queue"
-- Tenants whose calls wait share the slots in proportion to their weights: each has a virtual time,
-- which grows by work over weight with every slot it is given; the smallest is next. One that comes
-- (again) begins at the time of the last one served, so nobody saves up service.
local function tenant_field(tenant) return 'v:' .. tenant end

local function tenant_member(time, tenant) return 't' .. pack_struct('>d', time) .. tenant end

local function time_of_tenant(ctx, tenant)
  local time = call('HGET', ctx[KEY_LIST][META], tenant_field(tenant))
  return time and tonumber(time)
end

local function set_tenant(ctx, tenant, old, time)
  if old then call('ZREM', ctx[KEY_LIST][QUEUE], tenant_member(old, tenant)) end
  call('HSET', ctx[KEY_LIST][META], tenant_field(tenant), time)
  call('ZADD', ctx[KEY_LIST][QUEUE], 0, tenant_member(time, tenant))
end

local function forget_tenant(ctx, tenant, time)
  call('ZREM', ctx[KEY_LIST][QUEUE], tenant_member(time, tenant))
  call('HDEL', ctx[KEY_LIST][META], tenant_field(tenant))
end

-- A tenant has a call waiting. Those without a name are a tenant too, once there is a named one.
local function enter_tenant(ctx, tenant)
  if tenant ~= '' and not ctx.shared then
    ctx.shared, ctx.virtual = true, 0
    if ctx[WAITING] > 0 then set_tenant(ctx, '', nil, 0) end
  end
  if not ctx.shared then return end
  local time = time_of_tenant(ctx, tenant)
  if not time or time < ctx.virtual then set_tenant(ctx, tenant, time, ctx.virtual) end
end

-- A tenant was given a slot for this much work.
local function charge_tenant(ctx, tenant, work, weight)
  if not ctx.shared then return end
  local time = time_of_tenant(ctx, tenant) or ctx.virtual
  ctx.virtual = math.max(ctx.virtual, time)
  set_tenant(ctx, tenant, time, time + (work > 0 and work or USUAL_WORK) / weight)
end
