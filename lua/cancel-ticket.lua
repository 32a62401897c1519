--- @include "begin"
--- @include "commit"
--- @include "read-request"
--- @include "drop-ticket"
-- Takes a waiting request out of the queue because its caller left or its time is over.
-- Keys: meta targets index-a index-b requests owned queue activators events
-- Args:
--   leaseId    text, under which the request waits
--   now        us, 0 for the server's time
-- Reply: cancelled (it does not wait any more) | leased (it has a slot, to be released)
-- Cost: O(log n) for n tickets
-- Caller: activator
local ctx = begin(KEYS, ARGV[2])
if not ctx then return { 'cancelled' } end
local request = read_request(ctx, ARGV[1])
if not request then return { 'cancelled' } end
if request[KIND] == LEASE then return { 'leased' } end
drop_ticket(ctx, ARGV[1], request)
commit(ctx, 'cancel', '', ARGV[1])
return { 'cancelled' }
