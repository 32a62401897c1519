/**
 * The choice of a target as it is defined, one plain scan per policy: the reference model for the
 * scripts in the store, which give the same answers from indexes. The simulator uses it too.
 */
import type { LoadBalancingPolicy } from "../../common/contracts/routing.ts";

export interface Candidate {
  readonly uid: string;
  readonly state: string;
  readonly admission: number;
  readonly inFlight: number;
  /** Free slots; `Infinity` without a limit. */
  readonly freeSlots: number;
}

export interface ChoiceRequest {
  readonly policy: LoadBalancingPolicy;
  /** Admission number of the last successful choice of round robin, 0 for none. */
  readonly cursor: number;
  readonly exclude: readonly string[];
  /** Two numbers in [0, 1), used by `random-choice-2`. */
  readonly random: readonly [number, number];
}

/** The target to use, or undefined when none is eligible. */
export function chooseTarget<T extends Candidate>(
  targets: readonly T[],
  request: ChoiceRequest,
): T | undefined {
  const free = targets
    .filter((target) => target.freeSlots > 0 && !request.exclude.includes(target.uid))
    .toSorted((one, other) => one.admission - other.admission);
  const ready = free.filter((target) => target.state === "ready");
  const eligible = ready.length > 0 ? ready : free.filter(({ state }) => state === "suspected");
  return chooseAmong(eligible, request);
}

/** `eligible` in order of admission. */
function chooseAmong<T extends Candidate>(
  eligible: readonly T[],
  request: ChoiceRequest,
): T | undefined {
  switch (request.policy) {
    case "first-available":
      return eligible[0];
    case "round-robin":
      return eligible.find(({ admission }) => admission > request.cursor) ?? eligible[0];
    case "random-choice-2":
      return fewerOfTwo(eligible, request.random);
    case "min-connections":
    case "speed-aware":
      // A call of which nothing is known counts the same on every card; with estimates the rule is
      // that of common/hexgen/dispatch.ts.
      return fewest(eligible);
  }
}

function fewest<T extends Candidate>(targets: readonly T[]): T | undefined {
  return targets.reduce<T | undefined>(
    (best, target) => (best === undefined || target.inFlight < best.inFlight ? target : best),
    undefined,
  );
}

/** Two different ones at random; on a tie the first drawn. */
function fewerOfTwo<T extends Candidate>(
  targets: readonly T[],
  [random1, random2]: readonly [number, number],
): T | undefined {
  const first = Math.floor(random1 * targets.length);
  const second = Math.floor(random2 * (targets.length - 1));
  const one = targets[first];
  const other = targets[second >= first ? second + 1 : second];
  if (one === undefined || other === undefined) return one;
  return other.inFlight < one.inFlight ? other : one;
}
