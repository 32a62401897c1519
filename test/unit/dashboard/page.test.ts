/** The pure parts of the dashboard's page: cold-start parts, chart paths, state, words for numbers. */
import { beforeAll, describe, expect, it } from "vitest";
import type { ColdStartRecord } from "../../../common/contracts/channels.ts";
import type { AlphaChoice, RevisionKnowledge } from "../../../common/hexgen/knowledge.ts";
import { NOTHING_KNOWN } from "../../../common/hexgen/knowledge.ts";
import { loadPageModule } from "../../support/dashboard-page.ts";

interface Phases {
  phasesOf(record: ColdStartRecord): {
    readonly phases: readonly { name: string; startMs: number; ms: number }[];
    readonly totalMs: number;
    readonly platformMs: number;
    readonly containerMs: number;
  };
}
interface Shape {
  stepPath(
    at: readonly number[],
    data: { upper: readonly number[]; from: number },
    scale: unknown,
  ): string;
  scaleOf(nowAt: number, spanMs: number, top: number): unknown;
  niceTop(value: number): number;
}
interface State {
  initialState(): { history: Record<string, { at: number[]; running: number[] }>; feed: string };
  applyMessage(state: unknown, message: unknown): void;
  parseRoute(hash: string): unknown;
  routeTo(service: { namespace: string; name: string }): string;
  costPerHour(
    revisions: readonly { priceFactor: number; targets: readonly { card: string }[] }[],
    run: { cardPrices?: Readonly<Record<string, number>> },
  ): number | null;
}
interface Format {
  duration(ms: number): string;
  axisTime(ms: number): string;
  median(values: readonly number[]): number;
}
interface LearntPanel {
  alphaWords(revision: { name: string; learnt: RevisionKnowledge }, nowAt: number): string;
  errorWords(card: { error: number; stagesOff?: Readonly<Record<string, number>> }): string;
}

let phases: Phases;
let shape: Shape;
let state: State;
let format: Format;
beforeAll(async () => {
  phases = await loadPageModule<Phases>("lib/phases.js");
  shape = await loadPageModule<Shape>("lib/chart-shape.js");
  state = await loadPageModule<State>("lib/state.js");
  format = await loadPageModule<Format>("lib/format.js");
});

const record = (over: Partial<ColdStartRecord> = {}): ColdStartRecord => ({
  revision: "default/ocr-00001",
  service: "ocr",
  requestId: "r1",
  podUid: "p1",
  requestAt: 1_000,
  decidedAt: 1_004,
  spawnedAt: 1_010,
  sidecarAt: 1_050,
  listeningAt: 1_200,
  readyAt: 1_800,
  dispatchedAt: 1_805,
  firstByteAt: 1_900,
  ...over,
});

describe("a cold start", () => {
  it("is divided into parts that add up, the platform's apart from the container's", () => {
    const { phases: parts, totalMs, platformMs, containerMs } = phases.phasesOf(record());
    expect(parts.map(({ ms }) => ms)).toEqual([4, 6, 190, 600, 5, 95]);
    expect(totalMs).toBe(900);
    expect(platformMs).toBe(15);
    expect(containerMs).toBe(790);
  });

  it("gives the time of a missing mark to the part after it", () => {
    const { phases: parts } = phases.phasesOf(record({ spawnedAt: null, listeningAt: null }));
    expect(parts.map(({ name, ms }) => [name, ms])).toEqual([
      ["decide", 4],
      ["load", 796],
      ["dispatch", 5],
      ["answer", 95],
    ]);
  });

  it("has no negative part when the pod was started before the request", () => {
    const { phases: parts, totalMs } = phases.phasesOf(record({ decidedAt: 300, spawnedAt: 310 }));
    expect(parts.map(({ ms }) => ms)).toEqual([0, 0, 200, 600, 5, 95]);
    expect(totalMs).toBe(900);
  });
});

describe("a chart", () => {
  const draw = (at: number[], upper: number[]): string =>
    shape.stepPath(at, { upper, from: 0 }, shape.scaleOf(60_000, 60_000, 10));

  it("holds a value until the next sample", () => {
    expect(draw([0, 3_000, 6_000], [0, 10, 5])).toBe("M0.0,150.0H30.0V0.0H60.0V75.0H75.0");
  });

  it("leaves a gap where samples are missing", () => {
    expect(draw([0, 30_000], [10, 10]).match(/M/g)?.length).toBe(2);
  });

  it.each([
    [0, 2],
    [3, 3],
    [9, 10],
    [23, 40],
    [145, 160],
  ])("with at most %d is drawn up to %d", (value, top) => {
    expect(shape.niceTop(value)).toBe(top);
  });
});

describe("the page's state", () => {
  it.each(["", "#/", "#/default"])("shows the overview for %j", (hash) => {
    expect(state.parseRoute(hash)).toEqual({ kind: "overview" });
  });

  it("finds a service again by the address that leads to it", () => {
    const service = { namespace: "team a", name: "ocr" };
    expect(state.parseRoute("#/cells")).toEqual({ kind: "cells" });
    expect(state.parseRoute(state.routeTo(service))).toEqual({ kind: "service", ...service });
  });

  it("adds each snapshot once, also when history already holds it", () => {
    const page = state.initialState();
    const snapshot = (at: number): unknown => ({
      at,
      services: [
        {
          revisions: [
            {
              key: "a/b",
              desiredScale: 1,
              load: { running: at, waiting: 0, targetsByState: { ready: 1 } },
            },
          ],
        },
      ],
    });
    const columns = { waiting: [0], ready: [1], starting: [0], unready: [0], desired: [1] };
    const series = { "a/b": { at: [5], running: [5], ...columns } };
    state.applyMessage(page, { kind: "history", data: { sampleEveryMs: 1_000, series } });
    for (const at of [5, 6, 6]) state.applyMessage(page, { kind: "snapshot", data: snapshot(at) });
    expect(page.history["a/b"]).toMatchObject({ at: [5, 6], running: [5, 6] });
  });
});

describe("numbers in words", () => {
  it.each([
    [0.42, "0.4 ms"],
    [38.2, "38 ms"],
    [999.8, "1.00 s"],
    [1_234, "1.23 s"],
    [61_400, "61.4 s"],
    [101_000, "1 min 41 s"],
    [3_599_900, "59 min 59 s"],
    [7_260_000, "2 h 1 min"],
  ])("writes %d ms as %s", (ms, text) => {
    expect(format.duration(ms)).toBe(text);
  });

  it("places times on an axis", () => {
    expect([0, 30_000, 90_000, 600_000].map((ms) => format.axisTime(ms))).toEqual([
      "now",
      "-0:30",
      "-1:30",
      "-10:00",
    ]);
  });

  it("takes the mean of the middle two as median of an even count", () => {
    expect(format.median([9, 1, 5, 3])).toBe(4);
  });
});

describe("what was learnt", () => {
  const NOW = 1_800_000_000_000;
  const words = async (alpha: AlphaChoice | null): Promise<string> => {
    const panel = await loadPageModule<LearntPanel>("panels/learnt.js");
    return panel.alphaWords({ name: "llm-00001", learnt: { ...NOTHING_KNOWN, alpha } }, NOW);
  };
  const chosen = { version: 3, predictedTail: 0.8, window: 60, at: NOW - 120_000 };

  it("says which alpha holds, since when and why", async () => {
    expect(await words(null)).toBe("llm-00001: alpha 0.3, where it begins.");
    const tuned = { ...chosen, alpha: 0.1, previous: 0.3, reason: "prediction-missed" };
    expect(await words(tuned)).toContain(
      "alpha 0.1, version 3, 2 min ago (latency was not as foreseen, 60",
    );
  });

  it("names the stages of a card that are off for long", async () => {
    const panel = await loadPageModule<LearntPanel>("panels/learnt.js");
    expect(panel.errorWords({ error: 0.118 })).toBe("12 %");
    expect(panel.errorWords({ error: 0.2, stagesOff: { revise: 0.453, "": 0.31 } })).toBe(
      "20 %, revise 45 %, others 31 %",
    );
  });

  it("says that a value was taken back", async () => {
    const undone = { ...chosen, alpha: 0.3, previous: 0.1, reason: "rolled-back" };
    expect(await words(undone)).toContain(
      "(taken back, the one before was better, 60 workflows; 0.1 before)",
    );
  });
});

describe("what pods cost", () => {
  const revisions = [
    { priceFactor: 1, targets: [{ card: "h100" }, { card: "unknown" }] },
    { priceFactor: 2, targets: [{ card: "h100" }] },
  ];

  it("is the price of their cards, twice for protected ones", () => {
    expect(state.costPerHour(revisions, { cardPrices: { h100: 4, "*": 1 } })).toBe(4 + 1 + 8);
    expect(state.costPerHour(revisions, { cardPrices: { h100: 4 } })).toBe(12);
  });

  it("is not known without prices", () => {
    expect(state.costPerHour(revisions, {})).toBeNull();
  });
});
