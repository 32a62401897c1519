--- @include "begin"
--- @include "read-request"
--- @include "reply-request"
--- @include "session-target"
-- Says what became of a request whose assignment may have been lost. Changes nothing.
-- Keys: meta targets index-a index-b requests owned queue
-- Args:
--   leaseId    text, under which the request was enqueued
--   now        us, 0 for the server's time
-- Reply: leased uid address arrivedAt grantedAt | waiting arrivedAt readyTargets waiting
--   | session-lost | gone | unknown-revision
-- Cost: O(1)
-- Caller: activator, after a resubscription and as a fallback each second
local ctx = begin(KEYS, ARGV[2])
if not ctx then return { 'unknown-revision' } end
local request = read_request(ctx, ARGV[1])
if not request then return { 'gone' } end
local affinity, session = session_of(request[KIND] == TICKET and request[WORKS])
local home = affinity == 't' and home_of(ctx, session)
if home and is_gone(read_target(ctx, home)) then return { 'session-lost' } end
return reply_request(ctx, request)
