/**
 * The last minute of each revision out of totals that only grow: requests, errors, and where their
 * time went. Kept in this process, bounded by the revisions that exist.
 */
import { LATENCY_PHASES } from "../common/contracts/activator-figures.ts";
import type {
  ActivatorFigures,
  LatencyPhase,
  PhaseTotals,
  RevisionTotals,
} from "../common/contracts/activator-figures.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";

export const LATENCY_WINDOW_MS = 60_000;

/** Times of the requests that ended in the window, in ms. */
export interface PhaseView {
  /** Per request, those without the phase counted as 0. */
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

export interface TrafficView {
  /** Length of the window in ms; shorter while the dashboard is young. */
  readonly windowMs: number;
  readonly requests: number;
  readonly errors: number;
  /** The most frequent reason; empty without errors. */
  readonly mainError: string;
  readonly phases: Readonly<Record<LatencyPhase, PhaseView>>;
}

interface Totals {
  readonly requests: number;
  readonly errors: ReadonlyMap<string, number>;
  readonly phases: ReadonlyMap<LatencyPhase, PhaseTotals>;
}

interface Sample {
  readonly at: number;
  readonly totals: ReadonlyMap<RevisionKey, Totals>;
}

export class TrafficLog {
  readonly #samples: Sample[] = [];
  #boundsMs: readonly number[] = [];

  /** One figure set per activator that answered; an activator that is new or gone starts anew. */
  add(at: number, figures: readonly ActivatorFigures[]): void {
    const [first] = figures;
    if (first !== undefined) this.#boundsMs = first.boundsMs;
    const totals = new Map<RevisionKey, Totals>();
    for (const revision of figures.flatMap(({ revisions }) => revisions)) {
      totals.set(revision.revision, added(totals.get(revision.revision), revision));
    }
    this.#samples.push({ at, totals });
    while ((this.#samples[1]?.at ?? at) <= at - LATENCY_WINDOW_MS) this.#samples.shift();
  }

  /** Null when nothing ended in the window. */
  read(key: RevisionKey): TrafficView | null {
    const known = this.#samples.flatMap(({ at, totals }) => {
      const own = totals.get(key);
      return own === undefined ? [] : [{ at, own }];
    });
    const [first] = known;
    const last = known.at(-1);
    if (first === undefined || last === undefined) return null;
    const requests = last.own.requests - first.own.requests;
    // Fewer than before: an activator was replaced, and its totals began anew.
    if (requests <= 0) return null;
    const span = { end: last.own, begin: first.own, requests, boundsMs: this.#boundsMs };
    return { windowMs: last.at - first.at, requests, ...errorsOf(span), phases: phasesOf(span) };
  }
}

function errorsOf({ end, begin }: Span): Pick<TrafficView, "errors" | "mainError"> {
  const more = [...differences(end.errors, begin.errors)].toSorted((a, b) => b[1] - a[1]);
  return {
    errors: more.reduce((sum, [, count]) => sum + count, 0),
    mainError: more[0]?.[0] ?? "",
  };
}

function added(before: Totals | undefined, revision: RevisionTotals): Totals {
  const errors = new Map(before?.errors);
  for (const [reason, count] of Object.entries(revision.errors)) {
    errors.set(reason, (errors.get(reason) ?? 0) + count);
  }
  const phases = LATENCY_PHASES.map((phase): [LatencyPhase, PhaseTotals] => {
    const known = before?.phases.get(phase);
    const { counts, sumMs } = revision.phases[phase];
    return [
      phase,
      {
        counts: counts.map((count, bucket) => count + (known?.counts[bucket] ?? 0)),
        sumMs: sumMs + (known?.sumMs ?? 0),
      },
    ];
  });
  const requests = revision.requests + (before?.requests ?? 0);
  return { requests, errors, phases: new Map(phases) };
}

function differences(
  end: ReadonlyMap<string, number>,
  begin: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const result = new Map<string, number>();
  for (const [reason, count] of end) {
    const more = count - (begin.get(reason) ?? 0);
    if (more > 0) result.set(reason, more);
  }
  return result;
}

interface Span {
  readonly end: Totals;
  readonly begin: Totals;
  readonly requests: number;
  readonly boundsMs: readonly number[];
}

function phasesOf({ end, begin, requests, boundsMs }: Span): TrafficView["phases"] {
  const views = LATENCY_PHASES.map((phase): [LatencyPhase, PhaseView] => {
    const last = end.phases.get(phase);
    const first = begin.phases.get(phase);
    const counts = (last?.counts ?? []).map(
      (count, bucket) => count - (first?.counts[bucket] ?? 0),
    );
    const sumMs = (last?.sumMs ?? 0) - (first?.sumMs ?? 0);
    // A request that did not start a pod waited for none: it counts as 0.
    const without = requests - counts.reduce((sum, count) => sum + count, 0);
    return [
      phase,
      {
        meanMs: Math.max(0, sumMs / requests),
        p50Ms: quantile(counts, boundsMs, { share: 0.5, without }),
        p95Ms: quantile(counts, boundsMs, { share: 0.95, without }),
      },
    ];
  });
  // One entry for each of the phases.
  return Object.fromEntries(views) as TrafficView["phases"];
}

/** Linear within the bucket, as Prometheus reads a histogram; the last bucket counts as its bound. */
export function quantile(
  counts: readonly number[],
  boundsMs: readonly number[],
  { share, without = 0 }: { readonly share: number; readonly without?: number },
): number {
  const zeros = Math.max(0, without);
  const total = counts.reduce((sum, count) => sum + count, zeros);
  let left = total * share - zeros;
  if (left <= 0) return 0;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && left <= count) {
      const low = bucket === 0 ? 0 : (boundsMs[bucket - 1] ?? 0);
      const high = boundsMs[bucket] ?? low;
      return low + (high - low) * (left / count);
    }
    left -= count;
  }
  return 0;
}
