/**
 * Choice of a target for a call. `wb` is the rule of the product (Lua has the same operations in
 * the same order); `ect` predicts completion; `repo` repeats the published code, for the
 * reproduction only. All are written over a plain list: the definition, against which indexes are
 * tested.
 */

/** A target that is ready and has a free slot. */
export interface DispatchTarget {
  /** Admission number; the last tie-break. */
  readonly ordinal: number;
  /** Targets of one profile have the same `serviceUs`. */
  readonly profile: string | number;
  readonly serviceUs: number;
  readonly outstandingUs: number;
  /** Room for the prompt, and not excluded by an earlier attempt of this call. */
  readonly canTake: boolean;
  /** Time of the call here where this target holds a beginning of its prompt; at most eight have one. */
  readonly warmServiceUs?: number | undefined;
}

/** Time of the call on a target, with what it holds of the prompt. */
export const timeOn = ({ serviceUs, warmServiceUs }: DispatchTarget): number =>
  warmServiceUs ?? serviceUs;

/** Scores closer than this to the best are ties. */
const TIE = 1e-9;
/** Targets of one profile that are looked at, smallest outstanding work first. */
export const HEADS_PER_PROFILE = 8;

export interface ScoreScale {
  readonly smallestServiceUs: number;
  readonly largestOutstandingUs: number;
}

export function scoreScale(targets: Iterable<DispatchTarget>): ScoreScale {
  let smallestServiceUs = Infinity;
  let largestOutstandingUs = 0;
  for (const target of targets) {
    smallestServiceUs = Math.min(smallestServiceUs, target.serviceUs, timeOn(target));
    if (target.outstandingUs > largestOutstandingUs) largestOutstandingUs = target.outstandingUs;
  }
  return { smallestServiceUs, largestOutstandingUs };
}

/** Speed against outstanding work, both without unit, so alpha means the same on every pool. */
export function workBalanceScore(target: DispatchTarget, alpha: number, scale: ScoreScale): number {
  const speed = alpha * (scale.smallestServiceUs / timeOn(target));
  if (scale.largestOutstandingUs === 0) return speed;
  return speed - (1 - alpha) * (target.outstandingUs / scale.largestOutstandingUs);
}

/** The target with the largest score, or `undefined` when none can take the call. */
export function chooseByWorkBalance<T extends DispatchTarget>(
  targets: readonly T[],
  alpha: number,
): T | undefined {
  const scale = scoreScale(targets);
  const scored: { readonly target: T; readonly score: number }[] = [];
  let best = -Infinity;
  for (const target of profileCandidates(targets)) {
    const score = workBalanceScore(target, alpha, scale);
    scored.push({ target, score });
    if (score > best) best = score;
  }
  let chosen: T | undefined;
  for (const { target, score } of scored) {
    if (score < best - TIE) continue;
    if (chosen === undefined || hasLessWork(target, chosen)) chosen = target;
  }
  return chosen;
}

/** Per profile the first target that can take the call, among its heads; and those that are warm. */
function profileCandidates<T extends DispatchTarget>(targets: readonly T[]): T[] {
  const warm = targets.filter((target) => target.warmServiceUs !== undefined && target.canTake);
  return [...new Set([...profileHeads(targets), ...warm])];
}

function profileHeads<T extends DispatchTarget>(targets: readonly T[]): T[] {
  const headsByProfile = new Map<string | number, T[]>();
  for (const target of targets) {
    const heads = headsByProfile.get(target.profile);
    if (heads === undefined) headsByProfile.set(target.profile, [target]);
    else insertHead(heads, target);
  }
  const candidates: T[] = [];
  for (const heads of headsByProfile.values()) {
    const candidate = heads.find((head) => head.canTake);
    if (candidate !== undefined) candidates.push(candidate);
  }
  return candidates;
}

function insertHead<T extends DispatchTarget>(heads: T[], target: T): void {
  let position = heads.length;
  for (;;) {
    const before = heads[position - 1];
    if (before === undefined || hasLessWork(before, target)) break;
    position -= 1;
  }
  if (position >= HEADS_PER_PROFILE) return;
  heads.splice(position, 0, target);
  if (heads.length > HEADS_PER_PROFILE) heads.pop();
}

function hasLessWork(left: DispatchTarget, right: DispatchTarget): boolean {
  if (left.outstandingUs !== right.outstandingUs) return left.outstandingUs < right.outstandingUs;
  return left.ordinal < right.ordinal;
}

/** Earliest predicted completion; first in admission order on ties. */
export function chooseByCompletion<T extends DispatchTarget>(targets: readonly T[]): T | undefined {
  let chosen: T | undefined;
  for (const target of targets) {
    if (!target.canTake) continue;
    if (chosen === undefined || completesBefore(target, chosen)) chosen = target;
  }
  return chosen;
}

function completesBefore(left: DispatchTarget, right: DispatchTarget): boolean {
  const leftUs = left.outstandingUs + timeOn(left);
  const rightUs = right.outstandingUs + timeOn(right);
  return leftUs === rightUs ? left.ordinal < right.ordinal : leftUs < rightUs;
}

/** A target as the autoscaler's planner sees it: one that still starts counts as a queue. */
export interface PlannedTarget extends Omit<DispatchTarget, "canTake"> {
  readonly startUpLeftUs: number;
}

/** Where a call would best go, starting targets included: wait for a warm card, or start another. */
export function chooseForPlan<T extends PlannedTarget>(
  targets: readonly T[],
  alpha: number,
): T | undefined {
  const candidates = targets.map((target) => ({
    ordinal: target.ordinal,
    profile: `${target.profile}/${target.ordinal}`,
    serviceUs: target.serviceUs,
    outstandingUs: target.outstandingUs + target.startUpLeftUs,
    canTake: true,
    planned: target,
  }));
  return chooseByWorkBalance(candidates, alpha)?.planned;
}

/** A target as the published code sees it; work is never subtracted there. */
export interface PublishedTarget {
  readonly gpu: string;
  readonly serviceUs: number;
  readonly cumulativeUs: number;
}

/** Cards whose assigned work the published code counts half. */
const HALF_COUNTED_GPUS: ReadonlySet<string> = new Set(["A6000", "L40", "L40S"]);

export function publishedScore(
  target: PublishedTarget,
  reference: PublishedTarget,
  alpha: number,
): number {
  const weight = HALF_COUNTED_GPUS.has(target.gpu) ? 0.5 : 1;
  return (
    (alpha * reference.serviceUs) / target.serviceUs -
    ((1 - alpha) * weight * target.cumulativeUs) / reference.cumulativeUs
  );
}

/** The published rule: the first target is the reference and gets the first call unconditionally. */
export function chooseAsPublished<T extends PublishedTarget>(
  targets: readonly T[],
  alpha: number,
): T | undefined {
  const reference = targets[0];
  if (reference === undefined || reference.cumulativeUs === 0) return reference;
  let chosen: T = reference;
  let best = -Infinity;
  for (const target of targets) {
    const score = publishedScore(target, reference, alpha);
    if (score > best) {
      chosen = target;
      best = score;
    }
  }
  return chosen;
}
