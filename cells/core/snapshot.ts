/**
 * What one activator knows of the other cells: the last digest of each service, how old it is by
 * this activator's own clock, and whether the cell is believed. Every instant is this clock's.
 *
 *   unheard ──digest──► fresh ──nothing for 3 s──► lost ──digests for 1 s──► fresh
 */
import type { CellEntry } from "./cell-entry.ts";
import type { CellOffer } from "./choose-cell.ts";
import { MAX_DIGEST_AGE_MS } from "./choose-cell.ts";
import type { ServiceDigest } from "./digest.ts";
import { allows } from "./regions.ts";
import { RoundTrip } from "./round-trip.ts";
import { SpillLedger } from "./spill-ledger.ts";

/** A cell that was lost is believed again after this long of fresh digests. */
const PROBATION_MS = 1_000;
/** Round trip before the first was measured: far, so that nobody hurries there. */
const UNKNOWN_TRIP_MS = 500;

interface Known {
  readonly digest: ServiceDigest;
  /** When the sender's echo left here: the digest is at most this old. */
  readonly heardAt: number;
}

class CellKnowledge {
  readonly roundTrip = new RoundTrip();
  readonly services = new Map<string, Known>();
  readonly ledger = new SpillLedger();
  heardAt = Number.NEGATIVE_INFINITY;
  /** End of the probation of a cell that was lost. */
  trustedFrom = Number.NEGATIVE_INFINITY;

  isFresh(now: number): boolean {
    return now - this.heardAt <= MAX_DIGEST_AGE_MS && now >= this.trustedFrom;
  }

  /** Everything that the cell has was told since; what was not is gone there. */
  dropOlder(than: number): void {
    for (const [service, { heardAt }] of this.services) {
      if (heardAt < than) this.services.delete(service);
    }
  }
}

export interface OfferQuestion {
  readonly service: string;
  readonly regions: readonly string[];
  readonly here: { readonly cell: CellEntry; readonly digest: ServiceDigest | null };
  readonly others: readonly CellEntry[];
  readonly tried: ReadonlySet<string>;
  /** Of the service; 0 without a limit. */
  readonly containerConcurrency: number;
  readonly now: number;
}

export interface CellHealth {
  readonly cell: string;
  readonly ageMs: number;
  readonly isFresh: boolean;
  readonly roundTripMs: number | null;
  readonly services: number;
}

export class Snapshot {
  readonly #cells = new Map<string, CellKnowledge>();

  /** `heardAt`: when what the sender echoed had left here. */
  learn(cell: string, digests: readonly ServiceDigest[], heardAt: number, now: number): void {
    const known = this.#of(cell);
    const wasLost =
      known.heardAt > Number.NEGATIVE_INFINITY && now - known.heardAt > MAX_DIGEST_AGE_MS;
    if (wasLost) known.trustedFrom = now + PROBATION_MS;
    known.heardAt = Math.max(known.heardAt, heardAt);
    for (const digest of digests) {
      known.services.set(digest.service, { digest, heardAt });
      known.ledger.settle(digest.service, heardAt);
    }
  }

  /** A whole digest ended that began when we had heard the echo of `beganAt`. */
  complete(cell: string, beganAt: number): void {
    this.#of(cell).dropOlder(beganAt);
  }

  tripTook(cell: string, ms: number): void {
    this.#of(cell).roundTrip.sample(ms);
  }

  forget(cell: string): void {
    this.#cells.delete(cell);
  }

  /** A request leaves for the cell; answers how to take that back. */
  sent(cell: string, service: string, now: number): () => void {
    return this.#of(cell).ledger.note(service, now);
  }

  digestOf(cell: string, service: string): ServiceDigest | null {
    return this.#cells.get(cell)?.services.get(service)?.digest ?? null;
  }

  digestsOf(cell: string): readonly ServiceDigest[] {
    return [...(this.#cells.get(cell)?.services.values() ?? [])].map(({ digest }) => digest);
  }

  isFresh(cell: string, now: number): boolean {
    return this.#cells.get(cell)?.isFresh(now) ?? false;
  }

  roundTripMs(cell: string): number {
    const trip = this.#cells.get(cell)?.roundTrip;
    return trip?.isKnown === true ? trip.ms : UNKNOWN_TRIP_MS;
  }

  /** What the choice is made of, for one request. */
  offers(question: OfferQuestion): readonly CellOffer[] {
    const { here, others, regions, tried, containerConcurrency } = question;
    const slotsPerPod = containerConcurrency || Number.POSITIVE_INFINITY;
    const isAllowed = (cell: CellEntry): boolean => allows(regions, cell);
    return [
      {
        ...offerOf(here.cell, here.digest, 0),
        isHere: true,
        isAllowed: isAllowed(here.cell),
        isTried: false,
        ageMs: 0,
        // Taking one was tried before anybody asked this question.
        warm: 0,
        roundTripMs: 0,
        slotsPerPod,
      },
      ...others.map((cell) => ({
        ...this.#offerOf(cell, question),
        isHere: false,
        isAllowed: isAllowed(cell),
        isTried: tried.has(cell.name),
        slotsPerPod,
      })),
    ];
  }

  /** Whether any other cell offers a free slot of the service; the cheapest look there is. */
  hasWarm(service: string, now: number): boolean {
    for (const known of this.#cells.values()) {
      const { digest } = known.services.get(service) ?? {};
      if (digest === undefined || !known.isFresh(now)) continue;
      if (digest.offered > known.ledger.open(service)) return true;
    }
    return false;
  }

  health(now: number): readonly CellHealth[] {
    return [...this.#cells].map(([cell, known]) => ({
      cell,
      ageMs: now - known.heardAt,
      isFresh: known.isFresh(now),
      roundTripMs: known.roundTrip.isKnown ? known.roundTrip.ms : null,
      services: known.services.size,
    }));
  }

  #offerOf(cell: CellEntry, { service, now }: OfferQuestion): OfferParts {
    const known = this.#cells.get(cell.name);
    const found = known?.services.get(service);
    if (known === undefined || found === undefined || now < known.trustedFrom) {
      return { ...offerOf(cell, null, 0), ageMs: Number.POSITIVE_INFINITY, roundTripMs: 0 };
    }
    return {
      ...offerOf(cell, found.digest, known.ledger.open(service)),
      ageMs: now - found.heardAt,
      roundTripMs: this.roundTripMs(cell.name),
    };
  }

  #of(cell: string): CellKnowledge {
    let known = this.#cells.get(cell);
    if (known === undefined) this.#cells.set(cell, (known = new CellKnowledge()));
    return known;
  }
}

type OfferParts = Omit<CellOffer, "isHere" | "isAllowed" | "isTried" | "slotsPerPod">;

/** What was sent and not answered for yet takes the slots first, then stands in the queue. */
function offerOf(
  cell: CellEntry,
  digest: ServiceDigest | null,
  sent: number,
): Omit<OfferParts, "ageMs" | "roundTripMs"> {
  if (digest === null) return { ...NOTHING, name: cell.name };
  const { offered, ready, starting, waiting, expectedWaitMs, expectedStartMs } = digest;
  const { mayStart, price } = digest;
  const behind = Math.max(0, sent - offered);
  return {
    name: cell.name,
    warm: Math.max(0, offered - sent),
    ready,
    starting,
    waiting: waiting + behind,
    // It grows with the queue in front.
    expectedWaitMs:
      expectedWaitMs === null ? null : (expectedWaitMs * (waiting + behind + 1)) / (waiting + 1),
    expectedStartMs,
    mayStart,
    price,
  };
}

const NOTHING = {
  warm: 0,
  ready: 0,
  starting: 0,
  waiting: 0,
  expectedWaitMs: null,
  expectedStartMs: null,
  mayStart: 0,
  price: 0,
} as const;
