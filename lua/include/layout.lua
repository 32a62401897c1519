--- @include "numbers"
-- Positions, formats and numbers that all scripts share. Hot records are binary and read by
-- position: a field name per value would double the memory of a target, and MessagePack costs four
-- times the instructions. The names of fields are here, in the order of the format. The loader puts
-- the values of constants in place of their names.

-- KEYS of every routing script, in this order (a script may stop early).
local META, TARGETS, INDEX_A, INDEX_B, REQUESTS, OWNED, QUEUE = 1, 2, 3, 4, 5, 6, 7
local ACTIVATORS, EVENTS, DETAILS, TIMERS, SAMPLES = 8, 9, 10, 11, 12

-- Target. Kept in memory only: the score under which it stands in the index, false when it does not;
-- whether it is to be stored; whether it is to be placed.
local PLACE, IS_CHANGED, IS_MOVED = 1, 2, 3
-- Stored: what a choice, a release and a heartbeat need.
local TARGET_FORMAT = '>sI4I4I4I4I4I4dddsBds'
local TARGET_HEAD = '>sI4I4I4'
local STATE, ADMISSION, CAPACITY, IN_FLIGHT, OCCUPIED, LAPSED, HELD = 4, 5, 6, 7, 8, 9, 10
local IDLE_SINCE, BOOT, SEQUENCE, ADDRESS, CONFIRMS = 11, 12, 13, 14, 15
local REPORTED_AT, CAUSE, REST_AT = 16, 17, 18
-- Behind it only where known: work in us, number of the profile, free KV room in tokens (-1 unknown).
local WORK_FORMAT = '>dI2d'
local WORK, PROFILE, KV_FREE = 19, 20, 21

-- Details of a target, MessagePack: what only changes of state need.
local POD_NAME, REASON, REPORTED, CARD, MARKS, BUILD, CHANGED_AT, SEEN_AT = 1, 2, 3, 4, 5, 6, 7, 8
local Q_SINCE, Q_UNTIL, Q_PERIOD, Q_ENDED, Q_EVIDENCE, SUSPECT, RESET_AT, FLAPS =
  9, 10, 11, 12, 13, 14, 15, 16

-- Request: a lease or a ticket. A ticket has its excluded targets where a lease has its target, and
-- its number where a lease has the time of its grant.
local REQUEST_FORMAT = '>BsdsdB'
local KIND, HOLDER, ARRIVED_AT, UID, GRANTED_AT, LAPSED_LEASE = 1, 2, 3, 4, 5, 6
local EXCLUDE, NUMBER = 4, 5
local LEASE, TICKET = 1, 2
-- Behind a lease that was ranked or weighed: work in us, class (NO_ORDER for none), key in us, and
-- the instant at which it should start when it was given a place in a local queue, else 0.
local LEASE_TAIL = '>dBdd'
local LEASE_WORK, LEASE_CLASS, LEASE_KEY, STARTS_AT = 7, 8, 9, 10
local NO_ORDER = 2
-- Behind a ticket that stands in the ranked queue: what its key is made of (us), and its tenant.
local TICKET_TAIL = '>BdddddddsdBs'
local CLASS, KEY, READY_AT, BUDGET, DEADLINE, REST, BEGAN_AT, TOKENS = 7, 8, 9, 10, 11, 12, 13, 14
local TENANT, WEIGHT, LEVEL, WORKS = 15, 16, 17, 18

-- A step: what it has read and will write, then what every step reads, in the order of RUN_FORMAT.
-- Fields with names are of the few steps that need them.
local KEY_LIST, TARGET_CACHE, CHANGED, MOVED, REQUEST_CACHE, WRITTEN = 1, 2, 3, 4, 5, 6
local INDEX, PLACES, ORDER, IS_RANKED, BUDGET_LEFT, MORE = 7, 8, 9, 10, 11, 12
local ALIVE, RENEWED, IS_BATCH, FRONT, LOWEST, AHEAD, EVENTS_ON = 13, 14, 15, 16, 17, 18, 19
local LEASE_HEAD, LEASE_END, SAME, NEW_LEASES, IS_SINGLE = 20, 21, 22, 23, 24
local NOW, CLOCK, HOLD, INTEGRAL, ARRIVALS, CURSOR = 25, 26, 27, 28, 29, 30
local WAITING, BUSY, NOTED_AT, POLICY, FILLING, FLAGS, NOTED, TAIL_AT = 31, 32, 33, 34, 35, 36, 37, 38

-- Set when the first step begins: a library cannot name them while it loads.
local call, floor, pack_struct, unpack_struct
