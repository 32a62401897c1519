/**
 * Conditions of a PodAutoscaler as stock sets them: Active, ScaleTargetInitialized, SKSReady, and
 * Ready derived from the three. A slow first start is Unknown, never False.
 */
import type { Condition, ConditionStatus } from "./condition-types.ts";

export type ConditionType = Condition["type"];

/** A condition without its instant. */
export interface Judgement {
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

export interface ActiveInputs {
  readonly before: ConditionStatus;
  readonly beforeJudgement?: Judgement | undefined;
  readonly initialised: boolean;
  /** -1 while nothing is known. */
  readonly want: number;
  readonly ready: number;
  readonly minScale: number;
  readonly initialScale: number;
  readonly reachable: boolean;
  /** What the first pod waits for, e.g. `waiting for a node`. */
  readonly waitingFor?: string | undefined;
}

const QUEUED_MESSAGE = "Requests to the target are being buffered as resources are provisioned.";
const ACTIVE: Judgement = { status: "True", reason: "", message: "" };
const IDLE: Judgement = {
  status: "False",
  reason: "NoTraffic",
  message: "The target is not receiving traffic.",
};
const TIMED_OUT: Judgement = {
  status: "False",
  reason: "TimedOut",
  message: "The target could not be activated.",
};

/** Pods that must be ready in one observation before the revision counts as active. */
export function readyThreshold(
  inputs: Pick<ActiveInputs, "initialised" | "minScale" | "initialScale" | "reachable">,
): number {
  const minScale = inputs.reachable ? inputs.minScale : 0;
  return inputs.initialised ? Math.max(minScale, 1) : Math.max(minScale, inputs.initialScale);
}

export function activeCondition(inputs: ActiveInputs): Judgement {
  const threshold = readyThreshold(inputs);
  if (threshold === 0) return IDLE;
  if (inputs.want === 0) return inputs.before === "Unknown" ? TIMED_OUT : IDLE;
  const asked = inputs.want > 0 || inputs.before !== "False";
  if (inputs.ready < threshold) return asked ? queued(inputs.waitingFor) : IDLE;
  if (asked) return ACTIVE;
  return inputs.beforeJudgement ?? { status: inputs.before, reason: "", message: "" };
}

function queued(waitingFor: string | undefined): Judgement {
  const message = waitingFor === undefined || waitingFor === "" ? QUEUED_MESSAGE : waitingFor;
  return { status: "Unknown", reason: "Queued", message };
}

/** True once enough pods were ready in one observation; never false again. */
export function isInitialised(
  inputs: Pick<
    ActiveInputs,
    "initialised" | "ready" | "minScale" | "initialScale" | "reachable"
  > & { readonly serviceKnown: boolean },
): boolean {
  if (inputs.initialised) return true;
  return inputs.serviceKnown && inputs.ready >= readyThreshold(inputs);
}

/**
 * Lays new judgements over old conditions; an instant changes only with its condition, and where
 * none has changed the same list comes back.
 */
export function updateConditions(
  before: readonly Condition[],
  judgements: Readonly<Record<Exclude<ConditionType, "Ready">, Judgement>>,
  nowMs: number,
): readonly Condition[] {
  const changed = (Object.keys(judgements) as Exclude<ConditionType, "Ready">[]).map((type) =>
    stamp(before, type, judgements[type], nowMs),
  );
  const ready = stamp(before, "Ready", deriveReady(changed), nowMs);
  const all = [...changed, ready];
  if (before.length === all.length && all.every((condition) => before.includes(condition))) {
    return before;
  }
  return all.toSorted((left, right) => (left.type < right.type ? -1 : 1));
}

/** Any False wins, then any Unknown, each with the words of the one that changed last. */
function deriveReady(conditions: readonly Condition[]): Judgement {
  for (const status of ["False", "Unknown"] as const) {
    const [latest] = conditions
      .filter((condition) => condition.status === status)
      .toSorted((left, right) => right.changedAt - left.changedAt);
    if (latest !== undefined) return { status, reason: latest.reason, message: latest.message };
  }
  return { status: "True", reason: "", message: "" };
}

function stamp(
  before: readonly Condition[],
  type: ConditionType,
  judgement: Judgement,
  nowMs: number,
): Condition {
  const old = before.find((condition) => condition.type === type);
  const same =
    old !== undefined &&
    old.status === judgement.status &&
    old.reason === judgement.reason &&
    old.message === judgement.message;
  return same ? old : { type, ...judgement, changedAt: nowMs };
}
