/** What the dashboard remembers: the last minute of requests, and what happened to each pod. */
import { describe, expect, it } from "vitest";
import { LATENCY_PHASES } from "../../../common/contracts/activator-figures.ts";
import type {
  ActivatorFigures,
  LatencyPhase,
  RevisionTotals,
} from "../../../common/contracts/activator-figures.ts";
import type { TargetState, TargetView } from "../../../common/contracts/routing.ts";
import { LATENCY_WINDOW_MS, TrafficLog, quantile } from "../../../dashboard/latency.ts";
import { TransitionLog } from "../../../dashboard/transitions.ts";

const BOUNDS = [1, 10, 100];
const KEY = "default/ocr-00001";

/** Totals after `requests`, each of which spent `upstreamMs` in its pod. */
function totals(requests: number, upstreamMs: number, errors = {}): RevisionTotals {
  const bucket = BOUNDS.findIndex((bound) => upstreamMs <= bound);
  const counts = [...BOUNDS, Infinity].map((_, index) => (index === bucket ? requests : 0));
  const nothing = { counts: counts.map(() => 0), sumMs: 0 };
  const phases = LATENCY_PHASES.map((phase): [LatencyPhase, RevisionTotals["phases"]["queue"]] => [
    phase,
    phase === "upstream" ? { counts, sumMs: requests * upstreamMs } : nothing,
  ]);
  return {
    revision: KEY,
    waiting: 0,
    running: 0,
    pods: 0,
    requests,
    errors,
    // One entry for each of the phases.
    phases: Object.fromEntries(phases) as RevisionTotals["phases"],
  };
}

const figures = (...revisions: RevisionTotals[]): ActivatorFigures[] =>
  revisions.map((revision, index) => ({
    activatorId: `a${index}`,
    degraded: false,
    boundsMs: BOUNDS,
    revisions: [revision],
  }));

describe("the last minute", () => {
  it("is the difference of totals, over all activators", () => {
    const log = new TrafficLog();
    log.add(0, figures(totals(100, 50), totals(10, 50, { queue_full: 1 })));
    expect(log.read(KEY)).toBeNull();
    log.add(1_000, figures(totals(130, 50), totals(20, 50, { queue_full: 4, cut: 1 })));
    expect(log.read(KEY)).toMatchObject({
      windowMs: 1_000,
      requests: 40,
      errors: 4,
      mainError: "queue_full",
      phases: { upstream: { meanMs: 50 }, queue: { meanMs: 0, p95Ms: 0 } },
    });
  });

  it("forgets what is older, and begins anew with a new activator", () => {
    const log = new TrafficLog();
    log.add(0, figures(totals(100, 5)));
    log.add(1_000, figures(totals(110, 5)));
    log.add(1_000 + LATENCY_WINDOW_MS, figures(totals(110, 5)));
    expect(log.read(KEY)).toBeNull();
    log.add(2_000 + LATENCY_WINDOW_MS, figures(totals(3, 5)));
    expect(log.read(KEY)).toBeNull();
    expect(log.read("default/other")).toBeNull();
  });
});

describe("a quantile", () => {
  it("lies within its bucket, and counts those without the phase as nothing", () => {
    expect(quantile([0, 10, 0, 0], BOUNDS, { share: 0.5 })).toBeCloseTo(5.5);
    expect(quantile([0, 10, 0, 0], BOUNDS, { share: 0.5, without: 90 })).toBe(0);
    expect(quantile([0, 10, 0, 0], BOUNDS, { share: 0.95, without: 90 })).toBeCloseTo(5.5);
    expect(quantile([0, 0, 0, 4], BOUNDS, { share: 0.5 })).toBe(100);
    expect(quantile([], [], { share: 0.5 })).toBe(0);
  });
});

describe("changes of a pod", () => {
  const target = (uid: string, state: TargetState, changedAt: number): TargetView => ({
    uid,
    podName: uid,
    address: "",
    state,
    reason: "",
    admission: 1,
    boot: 0,
    sequence: 0,
    capacity: 1,
    inFlight: 0,
    card: "",
    reportedAt: 0,
    changedAt,
    quarantinedUntil: 0,
    idleSince: 0,
    marks: {},
  });

  it("are kept once each, bounded, and go with the pod", () => {
    const log = new TransitionLog();
    log.note([target("a", "starting", 1)]);
    log.note([target("a", "starting", 1)]);
    log.note([target("a", "ready", 2), target("b", "ready", 2)]);
    expect(log.of("a").map(({ at, state }) => [at, state])).toEqual([
      [1, "starting"],
      [2, "ready"],
    ]);
    for (let at = 3; at < 100; at += 1) {
      log.note([target("a", at % 2 === 0 ? "ready" : "unready", at)]);
    }
    expect(log.of("a").length).toBeLessThanOrEqual(12);
    expect(log.of("a").at(-1)?.at).toBe(99);
    expect(log.of("b")).toEqual([]);
  });
});
