/**
 * Which cell serves a request, from what is known here and now, with the reason for every cell.
 * Pure, and without a single import: the activator, the simulator and the dashboard run this text.
 *
 *   warm slot here > warm slot elsewhere, nearest > the soonest of waiting and starting > nowhere
 *
 * Waiting and starting are compared by what the caller sees: expected time plus the round trip.
 * What is about as soon goes to the cheaper cell; what is equal to the better of two drawn ones.
 */

/** What is known of one cell for one service at this moment. */
export interface CellOffer {
  readonly name: string;
  /** The cell in which the request entered. */
  readonly isHere: boolean;
  /** The service's regions allow it. */
  readonly isAllowed: boolean;
  /** This request was refused there, or got lost on the way. */
  readonly isTried: boolean;
  /** Age of what is known, by the clock of the one who asks; infinite when nothing ever came. */
  readonly ageMs: number;
  /** Slots that may be taken, less those that were already sent for. */
  readonly warm: number;
  readonly ready: number;
  readonly starting: number;
  readonly waiting: number;
  /** For one more request; null when nobody knows. */
  readonly expectedWaitMs: number | null;
  /** Of a first or further pod; null when none was ever seen. */
  readonly expectedStartMs: number | null;
  /** Pods that may still be started: share, cards. */
  readonly mayStart: number;
  /** Of the service, the same in every cell; infinite without a limit. */
  readonly slotsPerPod: number;
  /** Measured and smoothed; 0 here. */
  readonly roundTripMs: number;
  /** Per second and pod, in any one currency. */
  readonly price: number;
}

export type CellExpectation = "warm" | "wait" | "start";

/** Why a cell was chosen, or was not. */
export const CELL_REASONS = [
  "chosen",
  "outside-regions",
  "refused",
  "too-old",
  "no-share",
  "too-far",
  "not-warm",
  "farther",
  "later",
  "dearer",
  "drawn-against",
] as const;
export type CellReason = (typeof CELL_REASONS)[number];

export interface CellVerdict {
  readonly cell: string;
  readonly reason: CellReason;
  /** Time until an answer could begin, as far as known; null where the cell was no candidate. */
  readonly expectedMs: number | null;
}

export interface CellChoice {
  /** Null: no cell may or can serve it. */
  readonly cell: string | null;
  readonly isHere: boolean;
  readonly expects: CellExpectation;
  readonly verdicts: readonly CellVerdict[];
}

export interface CellQuestion {
  readonly cells: readonly CellOffer[];
  /** What the caller's deadline leaves; infinite without one. */
  readonly remainingMs: number;
  /** Two numbers in [0, 1). */
  readonly dice: readonly [number, number];
}

/** A digest older than this is not believed. */
export const MAX_DIGEST_AGE_MS = 3_000;
/** A start that no cell ever saw: the usual one of a large model. */
const UNKNOWN_START_MS = 120_000;
/** A wait behind others of which nothing is known. */
const UNKNOWN_WAIT_MS = 120_000;
/** Against the slowest that any cell saw of the service, so that known starts go first. */
const UNSEEN_START_RATIO = 1.5;
/** Round trips within this of each other are the same: less than they move by themselves. */
const NEAR_MS = 5;
/** Expected times within this share of each other, or this many ms, are about as soon. */
const SOON_RATIO = 0.2;
const SOON_MS = 50;

interface Candidate {
  readonly offer: CellOffer;
  readonly expects: CellExpectation;
  readonly expectedMs: number;
}

export function chooseCell(question: CellQuestion): CellChoice {
  const reasons = new Map<string, CellReason>();
  const usable = question.cells.filter((offer) => {
    const reason = whyUnusable(offer);
    if (reason !== null) reasons.set(offer.name, reason);
    return reason === null;
  });
  const candidates = candidatesOf(usable, reasons);
  const inTime = withinDeadline(candidates, question.remainingMs, reasons);
  const chosen = choose(inTime, question.dice, reasons);
  if (chosen !== null) reasons.set(chosen.offer.name, "chosen");
  return {
    cell: chosen?.offer.name ?? null,
    isHere: chosen?.offer.isHere ?? false,
    expects: chosen?.expects ?? "wait",
    verdicts: question.cells.map(({ name }) => ({
      cell: name,
      reason: reasons.get(name) ?? "later",
      expectedMs: candidates.find(({ offer }) => offer.name === name)?.expectedMs ?? null,
    })),
  };
}

/** One line for people: `us: chosen (82 ms), ap: farther (204 ms), eu: not-warm`. */
export function explainChoice(choice: CellChoice): string {
  const parts = choice.verdicts.map(({ cell, reason, expectedMs }) =>
    expectedMs === null
      ? `${cell}: ${reason}`
      : `${cell}: ${reason} (${Math.round(expectedMs)} ms)`,
  );
  return parts.join(", ");
}

function whyUnusable(offer: CellOffer): CellReason | null {
  if (!offer.isAllowed) return "outside-regions";
  if (offer.isTried) return "refused";
  if (offer.ageMs > MAX_DIGEST_AGE_MS) return "too-old";
  return null;
}

/** Every cell that has a slot; where none has one, the best way of each to come to one. */
function candidatesOf(
  usable: readonly CellOffer[],
  reasons: Map<string, CellReason>,
): readonly Candidate[] {
  const warm = usable.filter((offer) => offer.warm > 0);
  if (warm.length > 0) {
    for (const offer of usable) if (offer.warm <= 0) reasons.set(offer.name, "not-warm");
    return warm.map((offer) => ({ offer, expects: "warm", expectedMs: offer.roundTripMs }));
  }
  const unseenStartMs = startUnseen(usable);
  return usable.flatMap((offer) => {
    const candidate = soonestWay(offer, offer.expectedStartMs ?? unseenStartMs);
    if (candidate === null) reasons.set(offer.name, "no-share");
    return candidate ?? [];
  });
}

/** In a cell that never started the service: it is the same image, so others know it about. */
function startUnseen(offers: readonly CellOffer[]): number {
  const seen = offers.flatMap(({ expectedStartMs }) => expectedStartMs ?? []);
  return seen.length === 0 ? UNKNOWN_START_MS : UNSEEN_START_RATIO * Math.max(...seen);
}

/** A slot of a pod that starts is taken by whoever waits already; who comes behind those must wait. */
function soonestWay(offer: CellOffer, startMs: number): Candidate | null {
  const { starting, mayStart, slotsPerPod, roundTripMs } = offer;
  // Here the request itself may be among those that wait.
  const ahead = offer.isHere ? offer.waiting - 1 : offer.waiting;
  const afterStart = (pods: number): number =>
    ahead < pods * slotsPerPod ? startMs : startMs + UNKNOWN_WAIT_MS;
  const ways: Candidate[] = [];
  if (offer.ready + starting > 0) {
    const waitMs = offer.expectedWaitMs ?? afterStart(starting);
    ways.push({ offer, expects: "wait", expectedMs: waitMs + roundTripMs });
  }
  if (mayStart > 0) {
    const expectedMs = afterStart(starting + mayStart) + roundTripMs;
    ways.push({ offer, expects: "start", expectedMs });
  }
  return leastBy(ways, (way) => way.expectedMs);
}

/** Who can make it; where nobody can, everybody stays, since a late answer is better than none. */
function withinDeadline(
  candidates: readonly Candidate[],
  remainingMs: number,
  reasons: Map<string, CellReason>,
): readonly Candidate[] {
  const inTime = candidates.filter(({ expectedMs }) => expectedMs <= remainingMs);
  if (inTime.length === 0) return candidates;
  for (const { offer, expectedMs } of candidates) {
    if (expectedMs > remainingMs) reasons.set(offer.name, "too-far");
  }
  return inTime;
}

function choose(
  candidates: readonly Candidate[],
  dice: readonly [number, number],
  reasons: Map<string, CellReason>,
): Candidate | null {
  const isWarm = candidates[0]?.expects === "warm";
  const here = candidates.find(({ offer }) => offer.isHere);
  const drop = (from: readonly Candidate[], keep: Keep, reason: CellReason): Candidate[] => {
    for (const candidate of from) {
      if (!keep(candidate)) reasons.set(candidate.offer.name, reason);
    }
    return from.filter((candidate) => keep(candidate));
  };
  if (isWarm && here !== undefined) {
    drop(candidates, (candidate) => candidate === here, "farther");
    return here;
  }
  const limitMs = soonEnoughMs(candidates, isWarm);
  const soon = drop(candidates, byTime(limitMs), isWarm ? "farther" : "later");
  const leastPrice = Math.min(...soon.map(({ offer }) => offer.price));
  const cheap = drop(soon, ({ offer }) => offer.price <= leastPrice, "dearer");
  const stays = cheap.find(({ offer }) => offer.isHere);
  const winner = stays ?? betterOfTwo(cheap, dice);
  drop(cheap, (candidate) => candidate === winner, stays === undefined ? "drawn-against" : "later");
  return winner;
}

type Keep = (candidate: Candidate) => boolean;

const byTime =
  (limitMs: number): Keep =>
  ({ expectedMs }) =>
    expectedMs <= limitMs;

function soonEnoughMs(candidates: readonly Candidate[], isWarm: boolean): number {
  const leastMs = Math.min(...candidates.map(({ expectedMs }) => expectedMs));
  return isWarm ? leastMs + NEAR_MS : Math.max(leastMs + SOON_MS, leastMs * (1 + SOON_RATIO));
}

/** Of equals the one with less in front of a new request; many entries do not all meet there. */
function betterOfTwo(
  candidates: readonly Candidate[],
  dice: readonly [number, number],
): Candidate | null {
  if (candidates.length < 2) return candidates[0] ?? null;
  const first = Math.floor(dice[0] * candidates.length);
  const second = (first + 1 + Math.floor(dice[1] * (candidates.length - 1))) % candidates.length;
  const [left, right] = [candidates[first], candidates[second]];
  if (left === undefined || right === undefined) return left ?? right ?? null;
  return room(right.offer) > room(left.offer) ? right : left;
}

function room(offer: CellOffer): number {
  return offer.warm > 0 ? offer.warm : offer.mayStart + offer.starting - offer.waiting;
}

function leastBy<T>(items: readonly T[], key: (item: T) => number): T | null {
  let least: T | null = null;
  for (const item of items) if (least === null || key(item) < key(least)) least = item;
  return least;
}
