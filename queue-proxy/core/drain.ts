/**
 * The end of a pod (semantics section 8), as a pure decision over facts:
 *
 *   serving --SIGTERM--> draining --nothing runs, quiet--> hook released --acknowledged, 1 s--> left
 *      ^ |                  `--max(grace - 5 s, grace / 2)--> what is open is ended
 *      | `-- hook called --> asked   (the container alone is being restarted)
 *      `------ 1 s without SIGTERM
 */

/** A hook without SIGTERM in this time belongs to a restart of the container alone. */
export const HOOK_ALONE_MS = 1_000;
/** As in stock Knative: this long without a request that did not come through our activator. */
export const QUIET_MS = 30_000;
/** Between the last reason to stay and the exit. */
export const LINGER_MS = 1_000;
/** Nobody can acknowledge a drain when no activator was reachable for this long. */
export const UNREACHABLE_MS = 5_000;
/** What is still open ends this long before the pod is killed. */
const RESERVE_MS = 5_000;

export interface DrainFacts {
  readonly now: number;
  /** Pod grace period: the revision's timeout. */
  readonly graceMs: number;
  /** First call of `/wait-for-drain` that waits, if any. */
  readonly hookAt: number | undefined;
  readonly signalAt: number | undefined;
  /** Requests that run or wait in the sidecar. */
  readonly open: number;
  /** Since when nothing is open; meaningless while `open` is above 0. */
  readonly idleSinceAt: number;
  /** Last arrival that did not come through our activator. */
  readonly foreignAt: number | undefined;
  /** When the store had the drain on record and no lease on this target. */
  readonly acknowledgedAt: number | undefined;
  /** Since when no activator is reachable. */
  readonly unreachableSinceAt: number | undefined;
}

export interface DrainDecision {
  readonly phase: "serving" | "asked" | "draining";
  /** Answer what waits at `/wait-for-drain`. */
  readonly releaseHook: boolean;
  /** End what is still open with `terminated`. */
  readonly terminate: boolean;
  readonly leave: boolean;
  /** The clock alone changes the decision then; undefined when it cannot. */
  readonly nextAt: number | undefined;
}

const SERVING: DrainDecision = {
  phase: "serving",
  releaseHook: false,
  terminate: false,
  leave: false,
  nextAt: undefined,
};

export function decideDrain(facts: DrainFacts): DrainDecision {
  const { now, hookAt, signalAt } = facts;
  if (signalAt === undefined) {
    if (hookAt === undefined) return SERVING;
    const aloneAt = hookAt + HOOK_ALONE_MS;
    if (now >= aloneAt) return { ...SERVING, releaseHook: true };
    return { ...SERVING, phase: "asked", nextAt: aloneAt };
  }
  const endAt = signalAt + Math.max(facts.graceMs - RESERVE_MS, facts.graceMs / 2);
  const overdue = now >= endAt;
  if (facts.open > 0) {
    return {
      phase: "draining",
      releaseHook: overdue,
      terminate: overdue,
      leave: false,
      nextAt: overdue ? undefined : endAt,
    };
  }
  const quietAt = Math.max(facts.idleSinceAt, quietUntil(facts, signalAt));
  const leaveAt =
    Math.min(mayLeaveAt(facts, quietAt), Math.max(endAt, facts.idleSinceAt)) + LINGER_MS;
  return {
    phase: "draining",
    releaseHook: overdue || now >= quietAt,
    terminate: false,
    leave: now >= leaveAt,
    nextAt: [quietAt, endAt, leaveAt].filter((at) => at > now).toSorted((a, b) => a - b)[0],
  };
}

function quietUntil(facts: DrainFacts, signalAt: number): number {
  if (facts.foreignAt === undefined) return signalAt;
  return Math.max(facts.foreignAt, signalAt) + QUIET_MS;
}

/** Idle, quiet, and nobody will send more: the store knows, or nobody can be reached to tell it. */
function mayLeaveAt(facts: DrainFacts, quietAt: number): number {
  const known = facts.acknowledgedAt ?? Infinity;
  const alone =
    facts.unreachableSinceAt === undefined ? Infinity : facts.unreachableSinceAt + UNREACHABLE_MS;
  return Math.max(quietAt, Math.min(known, alone));
}
