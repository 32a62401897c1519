/** How a live run is held against its simulation. */
import { expect, it } from "vitest";
import { LIVE_POLICIES } from "../../../bench/hexgen/live.ts";
import type { LiveFigures } from "../../../bench/hexgen/live-judge.ts";
import { largestError, sameRanking, whyUnproven } from "../../../bench/hexgen/live-judge.ts";

const figures = (name: string, live: number, simulated: number): LiveFigures => ({
  name,
  workflows: 90,
  failed: 0,
  live: { p50S: live, p95S: live },
  simulated: { p50S: simulated, p95S: simulated },
  timersLateMs: 0,
});

it("judges by the worst of the policies, whichever way it is off", () => {
  expect(largestError([figures("a", 110, 100), figures("b", 80, 100)], "p50S")).toBeCloseTo(0.2);
  expect(largestError([figures("a", 100, 100)], "p95S")).toBe(0);
});

it("sees policies that change places", () => {
  expect(sameRanking([figures("a", 3, 30), figures("b", 2, 20)], "p95S")).toBe(true);
  expect(sameRanking([figures("a", 3, 20), figures("b", 2, 30)], "p95S")).toBe(false);
});

it("asks for no order of policies that the simulator does not tell apart", () => {
  const near = [figures("a", 400, 406), figures("b", 390, 412), figures("c", 800, 785)];
  expect(sameRanking(near, "p50S")).toBe(true);
  expect(sameRanking([...near, figures("d", 420, 450)], "p50S")).toBe(true);
  expect(sameRanking([...near, figures("d", 395, 450)], "p50S")).toBe(false);
});

it("proves nothing where a workflow failed or the order is another", () => {
  const fine = [figures("a", 3, 30), figures("b", 2, 20)];
  expect(whyUnproven(fine, "p50S")).toBeUndefined();
  expect(whyUnproven([...fine, { ...figures("c", 4, 40), failed: 2 }], "p50S")).toBe(
    "2 workflows failed",
  );
  expect(whyUnproven([figures("a", 3, 20), figures("b", 2, 30)], "p95S")).toMatch(/rank otherwise/);
});

it("compares round robin, the paper's policy, and ours by both rules", () => {
  expect(LIVE_POLICIES.map(({ simulated }) => [simulated.dispatch, simulated.order])).toEqual([
    ["rr", "fifo"],
    ["wb", "pq"],
    ["wb", "urgency"],
    ["batch", "urgency"],
  ]);
  // What a service with early binding has, see the settings.
  expect(LIVE_POLICIES.at(-1)?.rule).toBe("batch");
});
