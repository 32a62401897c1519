-- Numbers and formats of a revision as a whole, its index and its queue.

-- Layout of a revision's state. Who changes any format below or in `layout` raises this and renames
-- the field: another version of the library then finds no record of its own, and asks the fence.
local LAYOUT = 2
local RUN_FIELD = 'run2'

-- RUN_FIELD of the meta hash, one field because every script reads and writes it: time, lease
-- clock, hold, integral, arrivals, cursor, waiting, busy, when the last new holder was noted; policy,
-- policy whose index is being filled (0 for none), flags: 1 event log on, 2 the index in force is the
-- second, 4 a tail follows, 8 pods of one slot; that holder.
local RUN_FORMAT = '>dddddddddBBBs'
local FLAGS_AT = 75
-- Of a revision that orders, binds early or shares among tenants: order, admissions of class 0 past
-- a waiting class 1, longest wait in us, places per target beyond its slots, the same for the index
-- that is being filled; 1 when the queue is ranked, 1 when tenants share it, 1 while tickets get new
-- keys; virtual time of the tenants.
local RUN_TAIL = '>BBdI4I4BBBd'
local FIFO, URGENCY, PQ, EDF, OLDEST = 1, 2, 3, 4, 5
local ORDERS = { fifo = 1, urgency = 2, pq = 3, edf_wf = 4, wfifo = 5 }

local FIRST_AVAILABLE, ROUND_ROBIN, RANDOM_CHOICE_2, SPEED_AWARE = 1, 2, 4, 5
local POLICIES = { ['first-available'] = 1, ['round-robin'] = 2, ['min-connections'] = 3,
  ['random-choice-2'] = 4, ['speed-aware'] = 5 }
-- By what each policy has its index in order.
local BY_ADMISSION, BY_LOAD, BY_WORK = 1, 2, 3
local INDEX_KINDS = { 1, 1, 2, 1, 3 }

-- Targets with a free place only, and suspected ones, sort behind every ready one with a free slot.
-- Scores stay whole below 2^53.
local BAND = 1099511627776
local SUSPECTED_FROM = 2199023255552
local LOAD_STEP = 4294967296
local LOAD_BAND = 4503599627370496
-- By profile, then work in us below 2^43; suspected ones under the number of their profile + 512.
local WORK_STEP = 8796093022208
local SUSPECTED_PROFILES, MOST_PROFILES = 512, 512
local HEADS = 8
-- Work of a call of which nothing is known, so that `speed-aware` counts connections.
local USUAL_WORK = 1000000
-- Counts stay below this; as slots kept back it means all, until the next report of a target that
-- refused as full.
local HELD_ALL = 2147483647

-- Keys of the ranked queue are whole us, moved by 2^52 to be positive.
local KEY_OFFSET, FARTHEST_KEY = 4503599627370496, 4503599627370495
-- Admissions of class 0 beside a waiting class 1 after which one of that is due.
local SHARE_TURNS = 7

-- Times in us.
local SECOND = 1000000
local LEASE_TIME = 3000000
-- A holder that takes one lease after the other is noted as alive again after so long.
local NOTED_FOR = 500000
local LONGEST_GAP = 2500000
local SUSPECT_TIME = 10000000
local TOMBSTONE_TIME = 600000000
local QUARANTINE_CAP = 30000000
local MEMORY_OF_FAULTS = 60000000
local YOUNG = 5000000
local LAYOUT_HELD = 120000000

-- Most items that one call looks at in each of its loops.
local MOST_TICKETS = 64
local MOST_TIMERS = 32
local MOST_OWNED = 64
local MOST_ASKED = 32
local MOST_FILLED = 64
local MOST_DEMOTED = 64
local MOST_OFFERS = 4
