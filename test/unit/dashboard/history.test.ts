/** The history of the dashboard: bounded, honest about gaps. */
import { describe, expect, it } from "vitest";
import type { RevisionKey } from "../../../common/contracts/routing.ts";
import { createHistory } from "../../../dashboard/history.ts";
import type { RevisionView } from "../../../dashboard/view.ts";

const KEY: RevisionKey = "default/ocr-00001";

const view = (running: number | null, key: RevisionKey = KEY): RevisionView => ({
  key,
  name: "ocr-00001",
  percent: 100,
  containerConcurrency: 1,
  maxScale: 0,
  minScale: 0,
  priceFactor: 1,
  problem: "",
  desiredScale: 2,
  targets: [],
  targetCount: 0,
  decisions: [],
  coldStarts: [],
  traffic: null,
  load:
    running === null
      ? null
      : {
          running,
          waiting: 3,
          oldestWaitMs: 0,
          arrivalRate: 0,
          targetsByState: {
            starting: 1,
            ready: 4,
            unready: 0,
            suspected: 0,
            quarantined: 2,
            draining: 0,
          },
        },
});

describe("history", () => {
  it("keeps one row per sample in columns, pods that start apart from those that were ready", () => {
    const history = createHistory();
    history.add(10, [view(1)]);
    history.add(20, [view(2)]);
    expect(history.read()[KEY]).toEqual({
      at: [10, 20],
      running: [1, 2],
      waiting: [3, 3],
      ready: [4, 4],
      starting: [1, 1],
      unready: [2, 2],
      desired: [2, 2],
    });
  });

  it("drops the oldest row at its limit", () => {
    const history = createHistory(3);
    for (const at of [1, 2, 3, 4]) history.add(at, [view(at)]);
    expect(history.read()[KEY]?.at).toEqual([2, 3, 4]);
  });

  it("records nothing while the store cannot be read, and goes on afterwards", () => {
    const history = createHistory();
    history.add(1, [view(1)]);
    history.add(2, [view(null)]);
    history.add(3, [view(3)]);
    expect(history.read()[KEY]?.at).toEqual([1, 3]);
  });

  it("forgets a revision that is gone", () => {
    const history = createHistory();
    history.add(1, [view(1), view(1, "default/old-00001")]);
    history.add(2, [view(1)]);
    expect(Object.keys(history.read())).toEqual([KEY]);
  });
});
