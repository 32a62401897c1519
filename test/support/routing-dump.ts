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
}

export interface TicketDump {
  readonly kind: "ticket";
  readonly holder: string;
  readonly arrivedAt: number;
  readonly exclude: readonly string[];
}

export interface RoutingDump {
  readonly meta: ReadonlyMap<string, string>;
  readonly targets: ReadonlyMap<string, TargetDump>;
  readonly requests: ReadonlyMap<string, LeaseDump | TicketDump>;
  readonly free: ReadonlyMap<string, number>;
  readonly load: ReadonlyMap<string, number>;
  readonly owned: readonly string[];
  readonly queue: readonly string[];
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
local function records(key, format)
  local all = redis.call('HGETALL', key)
  local list = {}
  for i = 1, #all, 2 do
    local raw = all[i + 1]
    local row = format and { struct.unpack(format, raw) } or cmsgpack.unpack(raw)
    list[#list + 1] = { all[i], texts(row) }
  end
  return list
end
local function scores(key) return redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
local meta = redis.call('HGETALL', KEYS[1])
local run = redis.call('HGET', KEYS[1], 'run')
local values = run and { struct.unpack('>ddddddddBBB', run) } or {}
for i, name in ipairs({ 'at', 'clock', 'hold', 'integral', 'arrivals', 'cursor', 'waiting', 'busy', 'policy' }) do
  if run then meta[#meta + 1], meta[#meta + 2] = name, texts(values[i]) end
end
for i = 1, #meta, 2 do
  if meta[i] == 'run' then meta[i + 1] = '' end
end
return cjson.encode({
  meta = meta, targets = records(KEYS[2], '>sI4I4I4I4I4I4dddsBds'), free = scores(KEYS[3]),
  load = scores(KEYS[4]), requests = records(KEYS[5], '>ssdsdB'), owned = redis.call('ZRANGE', KEYS[6], 0, -1),
  queue = redis.call('ZRANGE', KEYS[7], 0, -1), activators = scores(KEYS[8]),
  details = records(KEYS[10]), timers = scores(KEYS[11]),
})`;

type Row = readonly (string | readonly string[])[];

/** What the script above answers; empty Lua tables are objects in its JSON. */
interface RawDump {
  readonly meta: string[];
  readonly targets: [string, Row][];
  readonly details: [string, Row][];
  readonly requests: [string, Row][];
  readonly free: string[];
  readonly load: string[];
  readonly owned: string[];
  readonly queue: string[];
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
  return {
    meta: pairs(raw.meta),
    targets: new Map(
      list(raw.targets).map(([uid, row]) => [uid, decodeTarget(row, details.get(uid) ?? [])]),
    ),
    requests: new Map(list(raw.requests).map(([id, row]) => [id, decodeRequest(row)])),
    free: scores(raw.free),
    load: scores(raw.load),
    owned: list(raw.owned),
    queue: list(raw.queue),
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
    reported: text(details, 3),
    quarantinedSince: number(details, 9),
    quarantinedUntil: number(details, 10),
    suspect: text(details, 14),
    flaps: Array.isArray(flaps) ? flaps.map(Number) : [],
  };
}

function decodeRequest(row: Row): LeaseDump | TicketDump {
  const shared = { holder: text(row, 2), arrivedAt: number(row, 3) };
  if (text(row, 1) === "ticket") {
    const exclude = text(row, 4).split(" ").filter(Boolean);
    return { kind: "ticket", ...shared, exclude };
  }
  return { kind: "lease", ...shared, uid: text(row, 4), lapsed: text(row, 6) === "1" };
}
