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
    const last = this.#samples.at(-1);
    const end = last?.totals.get(key);
    const start = this.#samples.find(({ totals }) => totals.has(key));
    if (last === undefined || end === undefined || start === undefined) return null;
    const begin = start.totals.get(key);
    const requests = end.requests - (begin?.requests ?? 0);
    // Fewer than before: an activator was replaced, and its totals began anew.
    if (begin === undefined || requests <= 0) return null;
    const errors = differences(end.errors, begin.errors);
    const count = [...errors.values()].reduce((sum, value) => sum + value, 0);
    return {
      windowMs: last.at - start.at,
      requests,
      errors: count,
      mainError: [...errors].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? "",
      phases: phasesOf({ end, begin, requests, boundsMs: this.#boundsMs }),
    };
  }
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
    return [
      phase,
      {
        meanMs: Math.max(0, sumMs / requests),
        p50Ms: quantile(counts, boundsMs, 0.5),
        p95Ms: quantile(counts, boundsMs, 0.95),
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
  share: number,
): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let left = total * share;
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
