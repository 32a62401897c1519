/**
 * A made-up fleet for the dashboard: services whose load rises and falls with a clock, so that
 * every panel has something to show without a platform. Reads only; deterministic in time.
 */
import type { ColdStartRecord } from "../../common/contracts/channels.ts";
import type { RevisionKey, TargetState, TargetView } from "../../common/contracts/routing.ts";
import type { Clock } from "../../common/clock.ts";
import { createLogger } from "../../foundation/logger.ts";
import type { DashboardParts, DecisionInfo, ServiceInfo } from "../../dashboard/ports.ts";
import type { RevisionFigures } from "../../store/types.ts";

export interface FleetMember {
  readonly name: string;
  readonly slots: number;
  readonly maxScale: number;
  /** Requests that want to run at an instant. */
  readonly demand: (at: number) => number;
  /** State of the nth pod when it is not simply ready. */
  readonly odd?: (index: number) => TargetState | undefined;
  readonly problem?: string;
}

export interface FleetOptions {
  readonly clock: Clock;
  readonly members?: readonly FleetMember[];
  readonly storeFails?: () => boolean;
  readonly sampleEveryMs?: number;
}

const wave = (at: number, periodMs: number): number =>
  Math.max(0, Math.sin((at / periodMs) * 2 * Math.PI));

export const DEFAULT_MEMBERS: readonly FleetMember[] = [
  { name: "ocr", slots: 1, maxScale: 4, demand: (at) => Math.round(wave(at, 60_000) * 9) },
  {
    name: "llm",
    slots: 4,
    maxScale: 3,
    demand: (at) => Math.round(wave(at + 9_000, 41_000) * 10),
    odd: (index) => (index === 2 ? "quarantined" : undefined),
  },
  { name: "chat", slots: 20, maxScale: 2, demand: (at) => Math.round(wave(at, 90_000) * 12) },
  { name: "echo", slots: 10, maxScale: 3, demand: () => 0 },
  {
    name: "whisper",
    slots: 1,
    maxScale: 2,
    demand: () => 0,
    problem: "ImagePullBackOff: the image ghcr.io/acme/whisper:1 was not found",
  },
];

export function fleetParts(options: FleetOptions): DashboardParts {
  const { clock, members = DEFAULT_MEMBERS, storeFails = () => false } = options;
  const byKey = new Map(members.map((member) => [keyOf(member), member]));
  const memberOf = (key: RevisionKey): FleetMember => {
    const member = byKey.get(key);
    if (storeFails() || member === undefined)
      throw new Error("connect ECONNREFUSED 127.0.0.1:6379");
    return member;
  };
  return {
    clock,
    logger: createLogger({ name: "dashboard", level: "silent" }),
    ...(options.sampleEveryMs === undefined ? {} : { sampleEveryMs: options.sampleEveryMs }),
    run: {
      mode: "local",
      startedAt: clock.now() - 754_000,
      ingressUrl: "http://127.0.0.1:8080",
      storeUrl: "valkey://127.0.0.1:6379",
      version: "0.1.0",
    },
    services: () => members.map(serviceOf),
    scaler: (key) => {
      const member = byKey.get(key);
      if (member === undefined) return undefined;
      return { desiredScale: podCount(member, clock.now()), decisions: decisionsOf(member, clock) };
    },
    activators: () => [
      { id: "a1", url: "http://127.0.0.1:8081", state: "ready", reason: "", pid: 41 },
      { id: "a2", url: "http://127.0.0.1:8082", state: "ready", reason: "", pid: 42 },
    ],
    store: {
      listRevisions: async () => [...byKey.keys()],
      readFigures: async (key) => figuresOf(memberOf(key), clock.now()),
      readTargets: async (key) => targetsOf(memberOf(key), clock.now()),
      readRevision: () => Promise.resolve(null),
      readColdStarts: async (key, limit) => coldStartsOf(memberOf(key), clock.now()).slice(-limit),
    },
  };
}

function keyOf({ name }: FleetMember): RevisionKey {
  return `default/${name}-00001`;
}

function serviceOf(member: FleetMember): ServiceInfo {
  const { name, slots, maxScale, problem = "" } = member;
  return {
    namespace: "default",
    name,
    url: `http://${name}.default.localhost:8080`,
    revisions: [
      {
        key: keyOf(member),
        name: `${name}-00001`,
        percent: 100,
        containerConcurrency: slots,
        minScale: 0,
        priceFactor: 1,
        maxScale,
        problem,
      },
    ],
  };
}

/** Pods follow the demand of a few seconds ago, as a cooldown would have it. */
function podCount({ slots, maxScale, demand }: FleetMember, at: number): number {
  const wishes = [0, 2_000, 4_000, 6_000].map((agoMs) => Math.ceil(demand(at - agoMs) / slots));
  return Math.min(maxScale, Math.max(...wishes));
}

function targetsOf(member: FleetMember, at: number): TargetView[] {
  const count = podCount(member, at);
  const settled = Math.min(count, podCount(member, at - 2_000));
  let left = member.demand(at);
  return Array.from({ length: count }, (_, index) => {
    const isStarting = index >= settled;
    const state = isStarting ? "starting" : (member.odd?.(index) ?? "ready");
    const inFlight = state === "ready" ? Math.min(member.slots, left) : 0;
    left -= inFlight;
    return targetView(member, { index, state, inFlight, at });
  });
}

function targetView(
  member: FleetMember,
  {
    index,
    state,
    inFlight,
    at,
  }: { index: number; state: TargetState; inFlight: number; at: number },
): TargetView {
  return {
    uid: `${member.name}-uid-${index}`,
    podName: `${member.name}-00001-${["k4x2p", "m9q7d", "t2w8z", "b5h3n"][index] ?? index}`,
    address: `127.0.1.${10 + index}:8012`,
    state,
    reason: state === "quarantined" ? "connect refused twice, next probe in 2 s" : "",
    admission: state === "starting" ? 0 : index + 1,
    boot: 1,
    sequence: 1,
    capacity: member.slots,
    inFlight,
    card: member.name === "llm" ? "a100" : "default",
    reportedAt: at - 300,
    changedAt: at - 8_000 - index * 4_000,
    quarantinedUntil: 0,
    idleSince: 0,
    marks: {},
  };
}

function figuresOf(member: FleetMember, at: number): RevisionFigures {
  const targets = targetsOf(member, at);
  const busy = targets.reduce((sum, { inFlight }) => sum + inFlight, 0);
  const waiting = Math.max(0, member.demand(at) - busy);
  const count = (state: TargetState): number =>
    targets.filter((target) => target.state === state).length;
  return {
    at: at * 1_000,
    concurrencyIntegral: 0,
    arrivals: Math.round((at / 1_000) * (member.demand(at) > 0 ? 3 : 0)),
    since: 0,
    busy,
    waiting,
    aged: 0,
    oldestArrivedAt: waiting > 0 ? (at - 1_400) * 1_000 : 0,
    targetsByState: {
      starting: count("starting"),
      ready: count("ready"),
      unready: count("unready"),
      suspected: count("suspected"),
      quarantined: count("quarantined"),
      draining: count("draining"),
    },
    evicted: [],
  };
}

function decisionsOf(member: FleetMember, clock: Clock): DecisionInfo[] {
  const now = Math.floor(clock.now() / 1_000) * 1_000;
  const decisions: DecisionInfo[] = [];
  for (let at = now - 90_000; at <= now; at += 1_000) {
    const from = podCount(member, at - 1_000);
    const to = podCount(member, at);
    if (from === to) continue;
    const waiting = Math.max(0, member.demand(at) - from * member.slots);
    const reason =
      to > from
        ? `${waiting} waiting, all slots of ${from} of ${member.maxScale} pods busy`
        : "no higher wish within the cooldown of 6 s";
    decisions.push({ at, from, to, reason });
  }
  return decisions;
}

function coldStartsOf(member: FleetMember, now: number): ColdStartRecord[] {
  const records: ColdStartRecord[] = [];
  for (let at = Math.floor(now / 1_000) * 1_000 - 300_000; at < now - 4_000; at += 1_000) {
    if (podCount(member, at - 1_000) > 0 || podCount(member, at) === 0) continue;
    const loadMs = member.name === "ocr" ? 640 : member.name === "llm" ? 3_010 : 20;
    const wobble = (at / 1_000) % 7;
    records.push({
      revision: keyOf(member),
      service: member.name,
      requestId: `${member.name}-${at}`,
      podUid: `${member.name}-uid-${at}`,
      requestAt: at,
      decidedAt: at + 4 + wobble,
      spawnedAt: at + 12 + wobble,
      sidecarAt: at + 70,
      listeningAt: at + 190 + wobble * 20,
      readyAt: at + 190 + wobble * 30 + loadMs,
      dispatchedAt: at + 199 + wobble * 30 + loadMs,
      firstByteAt: at + 290 + wobble * 60 + loadMs,
    });
  }
  return records;
}
