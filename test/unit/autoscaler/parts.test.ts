/** The parts of a decision, each against a plain model or a table. */
import { describe, expect, test } from "vitest";
import { Cooldown } from "../../../autoscaler/core/cooldown.ts";
import { startFailure } from "../../../autoscaler/core/failures.ts";
import { nextAgeingMs } from "../../../autoscaler/core/from-zero.ts";
import { leaveOrder } from "../../../autoscaler/core/leave-order.ts";
import { withholdScaleDown } from "../../../autoscaler/core/nothing-rash.ts";
import { NO_POD_TIME, addPodTime } from "../../../autoscaler/core/pod-time.ts";
import { retainLastPod } from "../../../autoscaler/core/retention.ts";
import {
  decodeState,
  emptyState,
  encodeState,
  isSameMark,
  markState,
} from "../../../autoscaler/core/scaler-state.ts";
import { LoadHistory } from "../../../autoscaler/core/windows.ts";
import type { Sample } from "../../../autoscaler/core/windows.ts";
import { createRandom } from "../../../common/random.ts";
import type { TargetState } from "../../../common/contracts/routing.ts";

describe("windows", () => {
  const random = createRandom(7);

  test("means are exact for any step load, window and spacing of samples", () => {
    for (let round = 0; round < 200; round += 1) {
      const steps = Array.from({ length: 40 }, () => Math.floor(random() * 8));
      const windowMs = 1_000 * (2 + Math.floor(random() * 20));
      const history = new LoadHistory();
      let [integral, at] = [0, 1_000_000_000];
      history.record({ at, concurrencyIntegral: 0, arrivals: 0 }, windowMs);
      for (const inFlight of steps) {
        at += 1_000_000;
        integral += inFlight * 1_000_000;
        history.record({ at, concurrencyIntegral: integral, arrivals: 0 }, windowMs);
      }
      const seen = steps.slice(-windowMs / 1_000);
      const mean = seen.reduce((sum, value) => sum + value, 0) / seen.length;
      expect(history.mean(windowMs, "linear").concurrency).toBeCloseTo(mean, 9);
    }
  });

  const sample = (seconds: number, integral: number, arrivals = 0): Sample => ({
    at: seconds * 1_000_000,
    concurrencyIntegral: integral * 1_000_000,
    arrivals,
  });

  test("an edge between two samples is interpolated", () => {
    const history = new LoadHistory();
    history.record(sample(10, 0), 6_000);
    history.record(sample(14, 8), 6_000);
    history.record(sample(18, 8), 6_000);
    expect(history.mean(6_000, "linear").concurrency).toBeCloseTo(4 / 6, 12);
  });

  test("a young record is the mean of what was seen, but of one second at least", () => {
    const history = new LoadHistory();
    history.record(sample(10, 0), 60_000);
    history.record(sample(10.1, 0.1, 1), 60_000);
    expect(history.mean(60_000, "linear")).toEqual({ concurrency: 0.1, rate: 1 });
    history.record(sample(12, 2, 1), 60_000);
    expect(history.mean(60_000, "linear")).toEqual({ concurrency: 1, rate: 0.5 });
  });

  test("a silence of a whole window begins a new record, a shorter one does not", () => {
    const history = new LoadHistory();
    history.record(sample(10, 0), 10_000);
    history.record(sample(19.9, 99), 10_000);
    expect(history.beganAt).toBe(10_000_000);
    history.record(sample(29.9, 99), 10_000);
    expect(history.beganAt).toBe(29_900_000);
    expect(history.covers(10_000)).toBe(false);
  });

  test("totals that fell were lost, and begin a new record", () => {
    const history = new LoadHistory();
    history.record(sample(10, 50, 5), 10_000);
    history.record(sample(12, 60, 6), 10_000);
    history.record(sample(14, 1, 1), 10_000);
    expect(history.beganAt).toBe(14_000_000);
    expect(history.mean(10_000, "linear")).toEqual({ concurrency: 0, rate: 0 });
  });

  test("a sample that is not newer changes nothing", () => {
    const history = new LoadHistory();
    history.record(sample(10, 5), 10_000);
    history.record(sample(10, 7), 10_000);
    history.record(sample(9, 4), 10_000);
    expect(history.samples).toEqual([sample(10, 5)]);
  });

  test("keeps no more samples than the window needs", () => {
    const history = new LoadHistory();
    for (let second = 0; second < 10_000; second += 1) history.record(sample(second, 0), 60_000);
    expect(history.size).toBeLessThan(300);
    expect(history.covers(60_000)).toBe(true);
  });
});

describe("cooldown", () => {
  test("equals the plain maximum over the window for any wants and lengths", () => {
    const random = createRandom(11);
    for (let round = 0; round < 100; round += 1) {
      const entered: [number, number][] = [];
      let cooldown = new Cooldown();
      let now = 1_000_000;
      for (let step = 0; step < 80; step += 1) {
        now += 500 + Math.floor(random() * 3_000);
        const want = Math.floor(random() * 10);
        const lengthMs = Math.floor(random() * 40_000);
        cooldown.enter(now, want);
        entered.push([now, want]);
        if (random() < 0.1) cooldown = new Cooldown(cooldown.toEntries());
        const inWindow = entered.filter(([at]) => at > now - lengthMs).map(([, value]) => value);
        const plain = inWindow.length > 0 ? Math.max(...inWindow) : want;
        expect(cooldown.desired(now, lengthMs)).toBe(plain);
      }
    }
  });

  test("keeps as many entries as there are distinct falling wants, however long it runs", () => {
    const cooldown = new Cooldown();
    for (let tick = 0; tick < 100_000; tick += 1) cooldown.enter(tick * 2_000, tick % 7);
    expect(cooldown.toEntries().length).toBeLessThanOrEqual(7);
  });
});

describe("leave order", () => {
  const target = (
    uid: string,
    state: TargetState,
    inFlight = 0,
    idleSince = 0,
  ): { uid: string; state: TargetState; inFlight: number; idleSince: number } => ({
    uid,
    state,
    inFlight,
    idleSince,
  });

  test("those that serve nobody first, then idle by age of idleness, then the least busy", () => {
    const targets = [
      target("busy-2", "ready", 2),
      target("busy-1-old", "ready", 1),
      target("busy-1-young", "ready", 1),
      target("idle-short", "ready", 0, 900),
      target("idle-long", "ready", 0, 100),
      target("starting", "starting"),
      target("unready", "unready"),
      target("suspected", "suspected", 1),
      target("quarantined", "quarantined"),
    ];
    const pods = [...targets.map(({ uid }) => uid), "never-pushed"].map((uid, index) => ({
      uid,
      createdAt: index,
      terminating: false,
    }));
    expect(leaveOrder(pods, targets)).toEqual([
      "quarantined",
      "suspected",
      "never-pushed",
      "unready",
      "starting",
      "idle-long",
      "idle-short",
      "busy-1-young",
      "busy-1-old",
      "busy-2",
    ]);
  });
});

describe("failing starts", () => {
  const failing = (count: number): Parameters<typeof startFailure>[0]["pods"] => [
    { uid: "a", failure: { reason: "CrashLoopBackOff", message: "exit code 1", count } },
  ];
  const given = { reason: "CrashLoopBackOff", message: "exit code 1" };
  const base = { readyPods: 0, currentReplicas: 1, before: null };

  test("are given up at the third failure of the same kind of one pod", () => {
    expect(startFailure({ ...base, pods: failing(2) })).toBeNull();
    expect(startFailure({ ...base, pods: failing(3) })).toEqual(given);
  });

  test("do not count while another pod is ready", () => {
    expect(startFailure({ ...base, readyPods: 1, pods: failing(9) })).toBeNull();
  });

  test("stay given up while pods come and go, until all are gone", () => {
    expect(startFailure({ ...base, pods: failing(1), before: given })).toEqual(given);
    expect(startFailure({ ...base, pods: [], before: given })).toEqual(given);
    expect(startFailure({ ...base, pods: [], currentReplicas: 0, before: given })).toBeNull();
  });
});

describe("the last pod", () => {
  const base = { nowMs: 100_000, desired: 0, currentReplicas: 3, retentionMs: 60_000 };

  test("alone is kept for the retention period, then goes", () => {
    expect(retainLastPod({ ...base, zeroSinceMs: null })).toMatchObject({ desired: 1 });
    expect(retainLastPod({ ...base, zeroSinceMs: 40_001 })).toMatchObject({ desired: 1 });
    expect(retainLastPod({ ...base, zeroSinceMs: 40_000 })).toMatchObject({ desired: 0 });
  });

  test("is not started anew only to be kept", () => {
    expect(retainLastPod({ ...base, currentReplicas: 0, zeroSinceMs: null }).desired).toBe(0);
  });

  test("counts from the latest moment without demand", () => {
    expect(retainLastPod({ ...base, desired: 1, zeroSinceMs: 5 }).zeroSinceMs).toBeNull();
  });
});

describe("nothing rash", () => {
  test.each([
    { desired: 1, currentReplicas: 10, windowSeen: false, max: 0, held: 10 },
    { desired: 1, currentReplicas: 10, windowSeen: true, max: 0, held: 1 },
    { desired: 12, currentReplicas: 10, windowSeen: false, max: 0, held: 12 },
    { desired: 1, currentReplicas: 10, windowSeen: false, max: 6, held: 6 },
  ])("$desired of $currentReplicas, window seen: $windowSeen, max $max", ({ held, ...inputs }) => {
    expect(withholdScaleDown(inputs)).toBe(held);
  });
});

describe("waiting requests", () => {
  const base = {
    nowMs: 10_000,
    waiting: 2,
    aged: 0,
    oldestArrivedAtMs: 9_400,
    scaleUpDelayMs: 1_000,
  };

  test.each([
    { name: "comes back when the oldest is of age", changes: {}, inMs: 400 },
    { name: "comes back for the younger ones behind it", changes: { aged: 1 }, inMs: 250 },
    { name: "has nothing to wait for when all are of age", changes: { aged: 2 }, inMs: null },
    { name: "never spins", changes: { oldestArrivedAtMs: 1 }, inMs: 20 },
  ])("$name", ({ changes, inMs }) => {
    expect(nextAgeingMs({ ...base, ...changes })).toBe(inMs);
  });
});

describe("pod time", () => {
  const targetsByState = {
    starting: 1,
    ready: 4,
    unready: 1,
    suspected: 0,
    quarantined: 1,
    draining: 2,
  };
  const look = { nowMs: 10_000, targetsByState, busy: 5, containerConcurrency: 2, livePods: 8 };

  test("counts each span as the look before it found the pods", () => {
    const first = addPodTime(NO_POD_TIME, look);
    expect(first.podsByUse).toEqual({ serving: 3, idle: 1, warming: 2, draining: 2, lost: 2 });
    const second = addPodTime(first, { ...look, nowMs: 12_000, busy: 0 });
    expect(second.secondsByUse).toEqual({ serving: 6, idle: 2, warming: 4, draining: 4, lost: 4 });
    expect(second.podsByUse).toMatchObject({ serving: 0, idle: 4 });
  });

  test("counts nothing for a span that nobody watched", () => {
    const first = addPodTime(NO_POD_TIME, look);
    expect(addPodTime(first, { ...look, nowMs: 90_000 }).secondsByUse).toEqual(
      NO_POD_TIME.secondsByUse,
    );
  });
});

describe("scaler state as text", () => {
  test("comes back as it was, with the newest want to be entered once more", () => {
    const state = { ...emptyState(), initialised: true, zeroSinceMs: 5 };
    state.cooldown.enter(1_000, 8);
    state.cooldown.enter(2_000, 3);
    const read = decodeState(encodeState(state));
    expect(read?.cooldown.toEntries()).toEqual([
      [1_000, 8],
      [2_000, 3],
    ]);
    expect(read).toMatchObject({ initialised: true, zeroSinceMs: 5, resumedWant: 3 });
  });

  test.each(["", "{", "null", "[]", '{"version":2,"cooldown":[]}', '{"version":1}'])(
    "%j counts as lost",
    (text) => {
      expect(decodeState(text)).toBeNull();
    },
  );

  test("deserves writing when a want changes, not at every tick", () => {
    const state = emptyState();
    state.cooldown.enter(1_000, 2);
    const before = markState(state);
    state.cooldown.enter(3_000, 2);
    expect(isSameMark(before, markState({ ...state }))).toBe(true);
    expect(isSameMark(before, markState({ ...state, initialised: true }))).toBe(false);
    state.cooldown.enter(5_000, 1);
    expect(isSameMark(before, markState(state))).toBe(false);
  });
});
