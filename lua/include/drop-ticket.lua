--- @include "layout"
--- @include "enter-queue"
--- @include "write-request"
-- Takes a waiting request out of the queue for good.
local function drop_ticket(ctx, request_id, ticket)
  write_request(ctx, request_id, false)
  leave_queue(ctx, request_id, ticket)
end
