/**
 * Random steps for the test of the store: plain data, made from a seed before anything runs, so
 * that a failing sequence can be cut down and pasted into a named test.
 */
import type { Binding, LoadBalancingPolicy, QueueOrder } from "../../common/contracts/routing.ts";
import { LOAD_BALANCING_POLICIES } from "../../common/contracts/routing.ts";
import { createRandom } from "../../common/random.ts";
import type { Random } from "../../common/random.ts";
import type { ReportedState } from "../../common/contracts/push.ts";
import type { ReleaseOutcome, TargetEvidence } from "../../store/types.ts";

export type Step =
  | {
      readonly do: "acquire";
      readonly lease: number;
      readonly activator: number;
      readonly exclude: readonly number[];
      readonly mayWait: boolean;
      readonly random: readonly [number, number];
      readonly call?: CallStep;
    }
  | { readonly do: "release"; readonly lease: number; readonly outcome: ReleaseOutcome }
  | { readonly do: "cancel"; readonly lease: number }
  | {
      readonly do: "report";
      readonly pod: number;
      readonly order: "next" | "same" | "old" | "reboot";
      readonly state: ReportedState | "goodbye";
      readonly capacity: number;
      readonly occupied: number;
      readonly confirms: boolean;
      readonly stillRunning: boolean;
      readonly kvFree?: number;
    }
  | { readonly do: "beat"; readonly pods: readonly number[] }
  | { readonly do: "evidence"; readonly pod: number; readonly evidence: TargetEvidence }
  | { readonly do: "probe"; readonly pod: number; readonly passed: boolean }
  | { readonly do: "renew"; readonly activator: number }
  | { readonly do: "leave"; readonly activator: number }
  | { readonly do: "reassert"; readonly activator: number }
  | {
      readonly do: "configure";
      readonly policy: LoadBalancingPolicy;
      readonly order?: QueueOrder;
      readonly binding?: Binding;
    }
  | { readonly do: "figures" }
  | {
      readonly do: "compare";
      readonly pods: readonly number[];
      readonly draining: readonly number[];
    }
  | { readonly do: "drain"; readonly pod: number }
  | { readonly do: "remove"; readonly pod: number }
  | { readonly do: "time"; readonly ms: number };

/** What a call says of itself; instants are made when it is played. */
export interface CallStep {
  readonly sloMs: number;
  readonly restMs: number;
  /** As a later stage of a workflow that began so long ago; else a workflow of its own. */
  readonly beganMsAgo?: number;
  readonly priority: number;
  readonly tenant: string;
  /** By card; empty when nothing is known. */
  readonly workMs: Readonly<Record<string, number>>;
  readonly promptTokens: number;
  /** Pods that hold a beginning of the prompt, and the times there by card; longest first. */
  readonly warm?: readonly {
    readonly pods: readonly number[];
    readonly workMs: Readonly<Record<string, number>>;
  }[];
}

const PODS = 6;
const ACTIVATORS = 3;

/** Kinds by weight. */
const KINDS: readonly Step["do"][] = [
  ...times(10, "acquire" as const),
  ...times(8, "release" as const),
  ...times(2, "cancel" as const),
  ...times(8, "report" as const),
  ...times(3, "beat" as const),
  ...times(3, "evidence" as const),
  ...times(3, "probe" as const),
  ...times(4, "renew" as const),
  ...times(4, "time" as const),
  "leave",
  "reassert",
  ...times(3, "configure" as const),
  "figures",
  "compare",
  "drain",
  "remove",
];

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

export function randomSteps(seed: number, count: number): Step[] {
  const random = createRandom(seed);
  let leases = 0;
  return Array.from({ length: count }, () => {
    const kind = pick(random, KINDS);
    // Mostly a new request; sometimes an old one again, as after a lost reply.
    const isNew = kind === "acquire" && random() < 0.85;
    if (isNew) leases += 1;
    const lease = isNew ? leases : Math.max(1, leases - Math.floor(random() * 12));
    return makeStep(random, kind, lease);
  });
}

function pick<T>(random: Random, values: readonly T[]): T {
  // A list that is not empty has every index below its length.
  return values[Math.floor(random() * values.length)] as T;
}

const some = (random: Random, share: number): number[] =>
  Array.from({ length: PODS }, (_, pod) => pod).filter(() => random() < share);

function makeStep(random: Random, kind: Step["do"], lease: number): Step {
  const pod = Math.floor(random() * PODS);
  const activator = Math.floor(random() * ACTIVATORS);
  return MAKERS[kind](random, { pod, activator, lease });
}

interface Draw {
  readonly pod: number;
  readonly activator: number;
  readonly lease: number;
}

const MAKERS: Readonly<Record<Step["do"], (random: Random, draw: Draw) => Step>> = {
  acquire: (random, { activator, lease }) => ({
    do: "acquire",
    lease,
    activator,
    exclude: random() < 0.25 ? some(random, 0.3) : [],
    mayWait: random() < 0.9,
    random: [random(), random()],
    ...(random() < 0.5 ? { call: makeCall(random) } : {}),
  }),
  release: (random, { lease }) => ({
    do: "release",
    lease,
    outcome: pick(random, ["done", "done", "cancelled", "moved"]),
  }),
  cancel: (_, { lease }) => ({ do: "cancel", lease }),
  report: (random, { pod }) => makeReport(random, pod),
  beat: (random) => ({ do: "beat", pods: some(random, 0.7) }),
  evidence: (random, { pod }) => ({ do: "evidence", pod, evidence: pick(random, EVIDENCE) }),
  probe: (random, { pod }) => ({ do: "probe", pod, passed: random() < 0.6 }),
  renew: (_, { activator }) => ({ do: "renew", activator }),
  leave: (_, { activator }) => ({ do: "leave", activator }),
  reassert: (_, { activator }) => ({ do: "reassert", activator }),
  configure: (random) => ({
    do: "configure",
    policy: pick(random, LOAD_BALANCING_POLICIES),
    order: pick(random, ["fifo", "urgency", "urgency", "pq", "edf_wf", "wfifo"]),
    binding: random() < 0.3 ? "early" : "late",
  }),
  figures: () => ({ do: "figures" }),
  compare: (random) => ({ do: "compare", pods: some(random, 0.85), draining: some(random, 0.1) }),
  drain: (_, { pod }) => ({ do: "drain", pod }),
  remove: (_, { pod }) => ({ do: "remove", pod }),
  time: (random) => ({
    do: "time",
    ms: pick(random, [1, 50, 400, 900, 1_500, 3_500, 11_000, -5_000]),
  }),
};

function makeCall(random: Random): CallStep {
  return {
    sloMs: pick(random, [0, 300, 2_000, 30_000]),
    restMs: pick(random, [50, 400, 5_000]),
    ...(random() < 0.5 ? { beganMsAgo: pick(random, [0, 100, 3_000]) } : {}),
    priority: pick(random, [0, 0, 0, 2, -3]),
    tenant: pick(random, ["", "", "", "ta", "tb"]),
    workMs: pick(random, [{}, { A: 100 }, { A: 100, B: 260 }, { A: 3_000, B: 900, "": 500 }]),
    promptTokens: pick(random, [0, 0, 100]),
    ...(random() < 0.4 ? { warm: makeWarm(random) } : {}),
  };
}

/** Pods stand in one group only. */
function makeWarm(random: Random): NonNullable<CallStep["warm"]> {
  const longest = some(random, 0.3);
  const shorter = some(random, 0.3).filter((pod) => !longest.includes(pod));
  return [
    { pods: longest, workMs: pick(random, [{ A: 20 }, { A: 20, B: 40 }, {}]) },
    { pods: shorter, workMs: pick(random, [{ A: 60 }, { A: 70, B: 160 }]) },
  ].filter(({ pods }) => pods.length > 0);
}

function makeReport(random: Random, pod: number): Step {
  return {
    do: "report",
    pod,
    order: pick(random, ["next", "next", "next", "next", "same", "old", "reboot"]),
    state: pick(random, [
      "ready",
      "ready",
      "ready",
      "ready",
      "unready",
      "starting",
      "draining",
      "goodbye",
    ]),
    capacity: pick(random, [1, 1, 2, 3, 0]),
    occupied: random() < 0.15 ? 1 : 0,
    confirms: random() < 0.4,
    stillRunning: random() < 0.3,
    ...(random() < 0.2 ? { kvFree: pick(random, [0, 50, 1_000]) } : {}),
  };
}

const EVIDENCE: readonly TargetEvidence[] = [
  "connect-failed",
  "connect-failed",
  "connect-failed",
  "misdirected",
  "pod-full",
  "draining",
  "reset-reused",
  "reset",
  "push-lost",
];
