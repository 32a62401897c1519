/**
 * All of a revision's routing state as the server holds it, for tests that check it as a whole.
 * Decoded inside the server, since records are binary; numbers travel as text because JSON
 * made there keeps 14 digits.
 */
import type { Redis } from "ioredis";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { ROUTING_KEYS, createKeys } from "../../store/keys.ts";

export interface TargetDump {
  readonly state: string;
  readonly admission: number;
  readonly capacity: number;
  readonly inFlight: number;
  readonly occupied: number;
  readonly lapsed: number;
  readonly held: number;
  readonly boot: number;
  readonly sequence: number;
  readonly confirms: boolean;
  readonly cause: string;
  readonly workUs: number;
  /** Number of the profile; 65,535 for none. */
  readonly profile: number;
  /** -1 where not known. */
  readonly kvFree: number;
  readonly reported: string;
  readonly suspect: string;
  readonly quarantinedUntil: number;
  readonly quarantinedSince: number;
  readonly flaps: readonly number[];
}

export interface LeaseDump {
  readonly kind: "lease";
  readonly holder: string;
  readonly arrivedAt: number;
  readonly uid: string;
  readonly lapsed: boolean;
  readonly workUs: number;
  /** 2 without an order. */
  readonly orderClass: number;
  readonly key: number;
  /** When a call in a local queue should start; 0 for one with a slot. */
  readonly startsAt: number;
}

export interface TicketDump {
  readonly kind: "ticket";
  readonly holder: string;
  readonly arrivedAt: number;
  readonly exclude: readonly string[];
  /** Absent for a plain ticket. */
  readonly rank?: TicketRank;
}

export interface TicketRank {
  /** 2 while it stands by arrival alone. */
  readonly orderClass: number;
  readonly key: number;
  readonly deadlineAt: number;
  readonly rest: number;
  readonly tokens: number;
  readonly tenant: string;
  readonly weight: number;
  readonly level: number;
}

export interface RankedDump {
  readonly id: string;
  readonly orderClass: number;
  readonly tenant: string;
  readonly level: number;
  readonly key: number;
}

export interface RoutingDump {
  readonly meta: ReadonlyMap<string, string>;
  readonly targets: ReadonlyMap<string, TargetDump>;
  readonly requests: ReadonlyMap<string, LeaseDump | TicketDump>;
  /** Uid to score in the index in force, and in the one that is being filled. */
  readonly index: ReadonlyMap<string, number>;
  readonly other: ReadonlyMap<string, number>;
  readonly owned: readonly string[];
  /** Ids that wait, by arrival. */
  readonly queue: readonly string[];
  /** Ranked tickets in the order of their ranks, without regard to tenants' turns. */
  readonly ranked: readonly RankedDump[];
  /** Ids that will be lost, and the instant up to which they are not. */
  readonly crossing: ReadonlyMap<string, number>;
  /** Tenants and their virtual times, smallest first. */
  readonly tenants: ReadonlyMap<string, number>;
  readonly activators: ReadonlyMap<string, number>;
  readonly timers: ReadonlyMap<string, number>;
}

const DUMP = `
local function texts(value)
  if type(value) == 'number' then return string.format('%.17g', value) end
  if type(value) ~= 'table' then return value end
  local copy = {}
  for i, item in ipairs(value) do copy[i] = texts(item) end
  if #copy == 0 then return cjson.empty_array or '' end
  return copy
end
local function append(row, more)
  for i = 1, #more - 1 do row[#row + 1] = more[i] end
end
local function target_row(raw)
  local row = { struct.unpack('>sI4I4I4I4I4I4dddsBds', raw) }
  local from = table.remove(row)
  append(row, from <= #raw and { struct.unpack('>dI2d', raw, from) } or { 0, 65535, -1, 0 })
  return row
end
local function request_row(raw)
  local row = { struct.unpack('>BsdsdB', raw) }
  local from = table.remove(row)
  if from <= #raw then
    append(row, { struct.unpack(row[1] == 1 and '>dBdd' or '>BdddddddsdBs', raw, from) })
  end
  return row
end
local function records(key, decode)
  local all, list = redis.call('HGETALL', key), {}
  for i = 1, #all, 2 do list[#list + 1] = { all[i], texts(decode(all[i + 1])) } end
  return list
end
local function scores(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
local function places(key, is_by_work)
  local all = scores(key)
  if is_by_work then
    for i = 1, #all, 2 do all[i] = string.sub(all[i], 5) end
  end
  return all
end
local meta = redis.call('HGETALL', KEYS[1])
local run = redis.call('HGET', KEYS[1], 'run2')
local values = run and { struct.unpack('>dddddddddBBBs', run) } or {}
-- How many slots pods seem to have is a guess that changes no answer.
if run then values[12] = values[12] % 8 end
for i, name in ipairs({ 'at', 'clock', 'hold', 'integral', 'arrivals', 'cursor', 'waiting', 'busy', 'notedAt', 'policy', 'filling', 'flags', 'noted' }) do
  if run then meta[#meta + 1], meta[#meta + 2] = name, texts(values[i]) end
end
if run and #run >= values[14] then
  local tail = { struct.unpack('>BBdI4I4BBBd', run, values[14]) }
  for i, name in ipairs({ 'order', 'share', 'limit', 'places', 'nextPlaces', 'ranked', 'shared', 'rekey', 'virtual' }) do
    meta[#meta + 1], meta[#meta + 2] = name, texts(tail[i])
  end
end
for i = 1, #meta, 2 do
  if meta[i] == 'run2' or meta[i] == 'rekey' and #meta[i + 1] > 1 then meta[i + 1] = '' end
end
local queue = {}
for i, member in ipairs(redis.call('ZRANGE', KEYS[7], 0, -1)) do
  local band = string.sub(member, 1, 1)
  local row = { band }
  if band == 'a' then
    row[2], row[3] = string.sub(member, 14), texts(struct.unpack('>d', member, 2))
  elseif band == 'x' then
    row[2], row[3] = string.sub(member, 10), texts(struct.unpack('>d', member, 2))
  elseif band == 't' then
    row[2], row[3] = string.sub(member, 10), texts(struct.unpack('>d', member, 2))
  else
    local zero = string.find(member, '\\0', 3, true)
    row[2], row[3], row[4] = string.sub(member, zero + 22), string.sub(member, 2, 2), string.sub(member, 3, zero - 1)
    row[5], row[6] = texts(string.byte(member, zero + 1)), texts(struct.unpack('>d', member, zero + 2) - 4503599627370496)
  end
  queue[i] = row
end
local owned = {}
for i, member in ipairs(redis.call('ZRANGE', KEYS[6], 0, -1)) do
  local starts = string.sub(member, 1, 1) == 'w' and struct.unpack('>d', member, 3)
  owned[i] = starts and 'w\\1' .. texts(starts) .. '\\1' .. string.sub(member, 11) or member
end
local is_second = math.floor((values[12] or 0) / 2) % 2 == 1
local by_work, fill_by_work = values[10] == 5, values[11] == 5
return cjson.encode({
  meta = meta, targets = records(KEYS[2], target_row),
  index = places(KEYS[is_second and 4 or 3], by_work), other = places(KEYS[is_second and 3 or 4], fill_by_work),
  requests = records(KEYS[5], request_row), owned = owned, queue = queue, activators = scores(KEYS[8]),
  details = records(KEYS[10], cmsgpack.unpack), timers = scores(KEYS[11]),
})`;

type Row = readonly (string | readonly string[])[];

/** What the script above answers; empty Lua tables are objects in its JSON. */
interface RawDump {
  readonly meta: string[];
  readonly targets: [string, Row][];
  readonly details: [string, Row][];
  readonly requests: [string, Row][];
  readonly index: string[];
  readonly other: string[];
  readonly owned: string[];
  readonly queue: string[][];
  readonly activators: string[];
  readonly timers: string[];
}

export async function dumpRouting(
  admin: Redis,
  prefix: string,
  revision: RevisionKey,
): Promise<RoutingDump> {
  const keys = createKeys(prefix).list(revision, ROUTING_KEYS);
  const text = String(await admin.eval(DUMP, keys.length, ...keys));
  const raw = JSON.parse(text) as RawDump;
  const details = new Map(list(raw.details));
  const members = (band: string): readonly string[][] =>
    list(raw.queue).filter((row) => row[0] === band);
  return {
    meta: pairs(raw.meta),
    targets: new Map(
      list(raw.targets).map(([uid, row]) => [uid, decodeTarget(row, details.get(uid) ?? [])]),
    ),
    requests: new Map(list(raw.requests).map(([id, row]) => [id, decodeRequest(row)])),
    index: scores(raw.index),
    other: scores(raw.other),
    owned: list(raw.owned),
    queue: members("a").map(([, id = ""]) => id),
    ranked: members("k").map(decodeRanked),
    crossing: new Map(members("x").map(([, id = "", at]) => [id, Number(at)])),
    tenants: new Map(members("t").map(([, name = "", time]) => [name, Number(time)])),
    activators: scores(raw.activators),
    timers: scores(raw.timers),
  };
}

function list<T>(value: readonly T[]): readonly T[] {
  return Array.isArray(value) ? value : [];
}

function pairs(flat: readonly string[]): Map<string, string> {
  const items = list(flat);
  const map = new Map<string, string>();
  for (let index = 0; index + 1 < items.length; index += 2) {
    map.set(items[index] ?? "", items[index + 1] ?? "");
  }
  return map;
}

function scores(flat: readonly string[]): Map<string, number> {
  return new Map([...pairs(flat)].map(([member, score]) => [member, Number(score)]));
}

const text = (row: Row, position: number): string => String(row[position - 1] ?? "");
const number = (row: Row, position: number): number => Number(row[position - 1] ?? 0);

/** Positions as in `lua/include/layout.lua`. */
function decodeTarget(row: Row, details: Row): TargetDump {
  const flaps = details[15];
  return {
    state: text(row, 1),
    admission: number(row, 2),
    capacity: number(row, 3),
    inFlight: number(row, 4),
    occupied: number(row, 5),
    lapsed: number(row, 6),
    held: number(row, 7),
    boot: number(row, 9),
    sequence: number(row, 10),
    confirms: text(row, 12) === "1",
    cause: text(row, 14),
    workUs: number(row, 15),
    profile: number(row, 16),
    kvFree: number(row, 17),
    reported: text(details, 3),
    quarantinedSince: number(details, 9),
    quarantinedUntil: number(details, 10),
    suspect: text(details, 14),
    flaps: Array.isArray(flaps) ? flaps.map(Number) : [],
  };
}

function decodeRequest(row: Row): LeaseDump | TicketDump {
  const shared = { holder: text(row, 2), arrivedAt: number(row, 3) };
  if (number(row, 1) === 2) {
    const exclude = text(row, 4).split(" ").filter(Boolean);
    return { kind: "ticket", ...shared, exclude, ...(row.length > 6 ? { rank: rankOf(row) } : {}) };
  }
  return {
    kind: "lease",
    ...shared,
    uid: text(row, 4),
    lapsed: text(row, 6) === "1",
    workUs: number(row, 7),
    orderClass: row.length > 6 ? number(row, 8) : 2,
    key: number(row, 9),
    startsAt: number(row, 10),
  };
}

function rankOf(row: Row): TicketRank {
  return {
    orderClass: number(row, 7),
    key: number(row, 8),
    deadlineAt: number(row, 11),
    rest: number(row, 12),
    tokens: number(row, 14),
    tenant: text(row, 15),
    weight: number(row, 16),
    level: 7 - number(row, 17),
  };
}

function decodeRanked(row: readonly string[]): RankedDump {
  const [, id = "", orderClass, tenant = "", level, key] = row;
  return {
    id,
    orderClass: Number(orderClass),
    tenant,
    level: 7 - Number(level),
    key: Number(key),
  };
}
