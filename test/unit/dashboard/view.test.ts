/** What the dashboard makes of what it read. */
import { describe, expect, it } from "vitest";
import type { ColdStartRecord } from "../../../common/contracts/channels.ts";
import type { RevisionInfo } from "../../../dashboard/ports.ts";
import { loadView, revisionView, serviceView } from "../../../dashboard/view.ts";
import type { RevisionReading } from "../../../dashboard/view.ts";
import type { RevisionFigures } from "../../../store/types.ts";

const NO_TARGETS = {
  starting: 0,
  ready: 0,
  unready: 0,
  suspected: 0,
  quarantined: 0,
  draining: 0,
};

const figures = (over: Partial<RevisionFigures> = {}): RevisionFigures => ({
  at: 10_000_000,
  concurrencyIntegral: 0,
  arrivals: 0,
  since: 1,
  busy: 0,
  waiting: 0,
  aged: 0,
  oldestArrivedAt: 0,
  targetsByState: NO_TARGETS,
  evicted: [],
  ...over,
});

const revision = (problem = ""): RevisionInfo => ({
  key: "default/ocr-00001",
  name: "ocr-00001",
  percent: 100,
  containerConcurrency: 1,
  maxScale: 4,
  minScale: 0,
  priceFactor: 1,
  problem,
});

const reading = (targetsByState: Partial<typeof NO_TARGETS>): RevisionReading => ({
  figures: figures({ targetsByState: { ...NO_TARGETS, ...targetsByState } }),
  targets: [],
  coldStarts: [],
});

describe("the activators of a revision", () => {
  it("are as many as its configuration says, or not known", () => {
    const view = (read: RevisionReading) => revisionView(revision(), undefined, read, undefined);
    expect(view({ ...reading({}), activatorsWanted: 3 }).activatorsWanted).toBe(3);
    expect(view(reading({}))).not.toHaveProperty("activatorsWanted");
  });
});

describe("the state of a service", () => {
  it.each([
    ["serves when a pod is ready, whatever else is wrong", ["late", { ready: 1 }, 1], "serving"],
    ["fails when pods cannot start", ["ImagePullBackOff", { starting: 1 }, 1], "failing"],
    ["starts while a pod starts", ["", { starting: 1 }, 1], "starting"],
    ["starts as soon as a pod is wanted", ["", {}, 1], "starting"],
    ["is at zero when nothing runs and nothing is wanted", ["", {}, 0], "at-zero"],
    ["is unknown when the store could not be read", ["", null, 0], "unknown"],
  ] as const)("%s", (_name, [problem, states, desiredScale], expected) => {
    const read = states === null ? undefined : reading(states);
    const view = revisionView(revision(problem), { desiredScale, decisions: [] }, read, undefined);
    const service = { namespace: "default", name: "ocr", url: "", revisions: [] };
    expect(serviceView(service, [view])).toMatchObject({ state: expected, problem });
  });
});

describe("load figures", () => {
  it("gives the age of the oldest waiting request in ms", () => {
    expect(loadView(figures({ waiting: 1, oldestArrivedAt: 8_500_000 }), undefined)).toMatchObject({
      waiting: 1,
      oldestWaitMs: 1_500,
    });
  });

  it.each([
    ["is arrivals by time between two samples", { at: 8_000_000, arrivals: 4 }, 5],
    ["is 0 at the first sample", undefined, 0],
    ["is 0 when the store lost its figures in between", { since: 0, arrivals: 900 }, 0],
  ])("arrival rate %s", (_name, before, expected) => {
    const now = figures({ arrivals: 14 });
    const then = before === undefined ? undefined : figures(before);
    expect(loadView(now, then).arrivalRate).toBe(expected);
  });
});

describe("a snapshot's rows", () => {
  const record = (podUid: string, requestAt: number, dispatchedAt: number): ColdStartRecord => ({
    revision: "default/ocr-00001",
    service: "ocr",
    requestId: `${podUid}-${dispatchedAt}`,
    podUid,
    requestAt,
    decidedAt: null,
    spawnedAt: null,
    sidecarAt: null,
    listeningAt: null,
    readyAt: null,
    dispatchedAt,
    firstByteAt: dispatchedAt + 1,
  });

  it("show a start once, as the request saw it that the pod served first, newest start first", () => {
    const coldStarts = [record("a", 1, 90), record("a", 3, 50), record("b", 2, 60)];
    const view = revisionView(revision(), undefined, { ...reading({}), coldStarts }, undefined);
    expect(view.coldStarts.map(({ requestId }) => requestId)).toEqual(["a-50", "b-60"]);
  });

  it("list decisions that changed the number of pods only", () => {
    const decisions = [
      { at: 1, from: 0, to: 1, reason: "1 waits" },
      { at: 2, from: 1, to: 1, reason: "still" },
      { at: 3, from: 1, to: 0, reason: "nothing runs or waits" },
    ];
    const scaler = { desiredScale: 0, decisions };
    const view = revisionView(revision(), scaler, reading({}), undefined);
    expect(view.decisions.map(({ at }) => at)).toEqual([1, 3]);
  });

  it("keeps the count of targets when it cuts their list", () => {
    const target = {
      uid: "u",
      podName: "p",
      address: "127.0.0.2:8012",
      state: "ready" as const,
      reason: "",
      admission: 1,
      boot: 1,
      sequence: 1,
      capacity: 1,
      inFlight: 0,
      card: "default",
      reportedAt: 0,
      changedAt: 0,
      quarantinedUntil: 0,
      idleSince: 0,
      marks: {},
    };
    const targets = Array.from({ length: 1_000 }, () => target);
    const view = revisionView(revision(), undefined, { ...reading({}), targets }, undefined);
    expect(view.targetCount).toBe(1_000);
    expect(view.targets.length).toBe(200);
  });
});
