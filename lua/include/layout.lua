-- Positions, formats and numbers that all scripts share. Hot records are binary and read by
-- position: a field name per value would double the memory of a target, and MessagePack costs four
-- times the instructions. The names of fields are here, in the order of the format.

-- KEYS of every routing script, in this order (a script may stop early).
local META, TARGETS, FREE, LOAD, REQUESTS, OWNED, QUEUE = 1, 2, 3, 4, 5, 6, 7
local ACTIVATORS, EVENTS, DETAILS, TIMERS, SAMPLES = 8, 9, 10, 11, 12

-- Target: what a choice, a release and a heartbeat need.
local TARGET_FORMAT = '>sI4I4I4I4I4I4dddsBds'
local STATE, ADMISSION, CAPACITY, IN_FLIGHT, OCCUPIED, LAPSED, HELD = 1, 2, 3, 4, 5, 6, 7
local IDLE_SINCE, BOOT, SEQUENCE, ADDRESS, CONFIRMS, REPORTED_AT, CAUSE = 8, 9, 10, 11, 12, 13, 14

-- Details of a target, MessagePack: what only changes of state need.
local POD_NAME, REASON, REPORTED, CARD, MARKS, BUILD, CHANGED_AT, SEEN_AT = 1, 2, 3, 4, 5, 6, 7, 8
local Q_SINCE, Q_UNTIL, Q_PERIOD, Q_ENDED, Q_EVIDENCE, SUSPECT, RESET_AT, FLAPS =
  9, 10, 11, 12, 13, 14, 15, 16

-- Request: a lease or a ticket. A ticket has its excluded targets where a lease has its target.
local REQUEST_FORMAT = '>ssdsdB'
local KIND, HOLDER, ARRIVED_AT, UID, GRANTED_AT, LAPSED_LEASE = 1, 2, 3, 4, 5, 6
local EXCLUDE = 4

-- Field `run` of the meta hash, one field because every script reads and writes it: time, lease
-- clock, hold, integral, arrivals, cursor, waiting, busy; policy, 1 while the other index is filled,
-- 1 when the event log is on.
local RUN_FORMAT = '>ddddddddBBB'
local POLICIES = { 'first-available', 'round-robin', 'min-connections', 'random-choice-2',
  'speed-aware' }
local ROUND_ROBIN = 2
local BY_LOAD = { false, false, true, false, true }

-- A suspected target sorts behind every ready one, in either index. Scores stay whole below 2^53.
local FREE_BAND = 1099511627776
local LOAD_STEP = 4294967296
local LOAD_BAND = 4503599627370496
-- Counts stay below this; as slots kept back it means all, until the next report of a target that
-- refused as full.
local HELD_ALL = 2147483647

-- Times in us.
local SECOND = 1000000
local LEASE_TIME = 3 * SECOND
local LONGEST_GAP = 2.5 * SECOND
local SUSPECT_TIME = 10 * SECOND
local TOMBSTONE_TIME = 600 * SECOND
local QUARANTINE_CAP = 30 * SECOND
local MEMORY_OF_FAULTS = 60 * SECOND
local YOUNG = 5 * SECOND

-- Most items that one call looks at in each of its loops.
local MOST_TICKETS = 64
local MOST_TIMERS = 32
local MOST_OWNED = 64
local MOST_ASKED = 32
local MOST_FILLED = 64
