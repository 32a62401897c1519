/** What is learnt from a call log: speed of cards, way of workflows, and when alpha is looked at. */
import { describe, expect, it } from "vitest";
import type { LoggedCall } from "../../../../common/contracts/call-log.ts";
import { decodeLogEntry, encodeLogEntry } from "../../../../common/contracts/call-log.ts";
import type { CallSample } from "../../../../common/contracts/push.ts";
import { knownCard } from "../../../../common/hexgen/known-cards.ts";
import { createRandom } from "../../../../common/random.ts";
import { AlphaKeeper } from "../../../../autoscaler/core/learning/alpha-keeper.ts";
import { CardLearner } from "../../../../autoscaler/core/learning/card-learner.ts";
import { ClassLearner } from "../../../../autoscaler/core/learning/class-learner.ts";
import { RevisionLearner } from "../../../../autoscaler/core/learning/revision-learner.ts";
import {
  observedTail,
  poolOf,
  windowOf,
} from "../../../../autoscaler/core/learning/tuning-window.ts";
import { tuningInput } from "../../../../autoscaler/tuning-input.ts";
import { tuneAlpha } from "../../../../autoscaler/simulator/hexgen/tune-alpha.ts";

const SAMPLE: CallSample = {
  model: "m",
  stage: "revise",
  workflowClass: "text2sql",
  promptTokens: 1_000,
  cachedTokens: 0,
  outputTokens: 50,
  characters: 3_000,
  messages: 1,
  firstMs: 0,
  totalMs: 0,
  meanBatch: 1,
};

/** A call as it would take on a card of that speed. */
function sampleOn(prefillTokensPerS: number, tokenUs: number, seed: number): CallSample {
  const random = createRandom(seed);
  const promptTokens = 200 + Math.floor(random() * 8_000);
  const outputTokens = 5 + Math.floor(random() * 600);
  const totalMs = (1_000 * promptTokens) / prefillTokensPerS + (outputTokens * tokenUs) / 1_000;
  return { ...SAMPLE, promptTokens, outputTokens, totalMs };
}

describe("the speed of a card", () => {
  it.each([
    { name: "A100", speed: 3_028, tokenUs: 21_210 },
    { name: "A100", speed: 60_560, tokenUs: 1_060 },
    { name: "nobody-knows", speed: 700, tokenUs: 90_000 },
  ])("of $name is found from its calls: $speed tokens/s", ({ name, speed, tokenUs }) => {
    const learner = new CardLearner(name);
    for (let seed = 1; seed <= 300; seed += 1) learner.observe(sampleOn(speed, tokenUs, seed));
    const { profile, error, calls } = learner.learnt();
    expect(calls).toBe(300);
    expect(profile.prefillTokensPerS / speed).toBeCloseTo(1, 1);
    expect(profile.tokenUs / tokenUs).toBeCloseTo(1, 1);
    expect(error).toBeLessThan(0.05);
  });

  it("is its prior before ten calls", () => {
    const learner = new CardLearner("L40");
    for (let seed = 1; seed < 10; seed += 1) learner.observe(sampleOn(9_999, 1, seed));
    expect(learner.learnt().profile).toEqual(knownCard("L40")?.profile);
  });

  it("is judged by a stage that is known, however many names callers bring", () => {
    const learner = new CardLearner("A100");
    for (let seed = 1; seed <= 200; seed += 1) {
      const stage = seed <= 20 ? "revise" : `name-${seed}`;
      learner.observe({ ...sampleOn(3_028, 21_210, seed), stage });
    }
    const errorOf = (): number => learner.errors().get("revise")?.relativeError ?? Number.NaN;
    const before = errorOf();
    for (let seed = 1; seed <= 5; seed += 1) {
      const sample = sampleOn(3_028, 21_210, seed);
      learner.observe({ ...sample, totalMs: 10 * sample.totalMs });
    }
    expect(errorOf()).toBeGreaterThan(before + 0.1);
    expect(learner.errors().size).toBeLessThanOrEqual(65);
  });

  it("is a time per route for calls without tokens", () => {
    const learner = new CardLearner("a");
    const plain = { ...SAMPLE, promptTokens: -1, outputTokens: -1, stage: "POST /ocr" };
    for (let round = 0; round < 100; round += 1) learner.observe({ ...plain, totalMs: 250 });
    for (let round = 0; round < 200; round += 1) {
      learner.observe({ ...plain, stage: `GET /${round}`, totalMs: 1 });
    }
    const { routesUs } = learner.learnt();
    expect(routesUs["POST /ocr"]).toBe(250_000);
    expect(Object.keys(routesUs)).toHaveLength(64);
  });
});

function call(changes: Partial<LoggedCall> = {}): LoggedCall {
  return {
    kind: "call",
    workflow: "q",
    tenant: "",
    workflowClass: "text2sql",
    stage: "revise",
    stageIndex: 0,
    isFinal: false,
    model: "m",
    workflowArrivedAt: 1e12,
    readyAt: 1e12,
    sloUs: 100e6,
    promptTokens: 5_000,
    outputTokens: 80,
    expectedUs: 3e6,
    queueMs: 0,
    serviceMs: 3_000,
    status: 200,
    endedAt: 1e12 + 3e6,
    ...changes,
  };
}

function way(learner: ClassLearner, workflow: string, stages: readonly string[]): void {
  stages.forEach((stage, stageIndex) => {
    const isFinal = stageIndex === stages.length - 1;
    learner.observeCall(call({ workflow, stage, stageIndex, isFinal }));
  });
}

describe("the way of a class", () => {
  it("is the one that most workflows took, with the share that passed each stage", () => {
    const learner = new ClassLearner();
    for (let n = 0; n < 6; n += 1) way(learner, `a${n}`, ["retrieve", "candidate", "test"]);
    for (let n = 0; n < 4; n += 1)
      way(learner, `b${n}`, ["retrieve", "candidate", "revise", "test"]);
    for (let n = 0; n < 10; n += 1) way(learner, `c${n}`, ["retrieve", "revise", "revise", "test"]);
    const { template, workflows } = learner.learnt(() => 7);
    expect(workflows).toBe(20);
    expect(template).toEqual([
      { stage: "retrieve", optional: false, probability: 1 },
      { stage: "revise", optional: true, probability: 0.7 },
      { stage: "revise", optional: true, probability: 0.5 },
      { stage: "test", optional: false, probability: 1 },
    ]);
  });

  it("counts parallel calls of a stage once, and a workflow that never ends in time", () => {
    const learner = new ClassLearner();
    for (let n = 0; n < 3_000; n += 1) {
      learner.observeCall(call({ workflow: `w${n}`, stage: "one" }));
      learner.observeCall(call({ workflow: `w${n}`, stage: "one" }));
    }
    expect(learner.learnt(() => 0).template).toEqual([
      { stage: "one", optional: false, probability: 1 },
    ]);
  });

  it("knows how long prompts and answers of a stage are", () => {
    const learner = new ClassLearner();
    for (let n = 1; n <= 100; n += 1) {
      learner.observeSample({ ...SAMPLE, promptTokens: 1_000, outputTokens: n });
    }
    const { stages } = learner.learnt((_stage, input, upper) => input + upper);
    expect(stages["revise"]?.inputTokens).toBe(1_000);
    expect(stages["revise"]?.outputMedian).toBeGreaterThan(35);
    expect(stages["revise"]?.outputUpper).toBeGreaterThan(60);
    expect(stages["revise"]?.expectedUs).toBe(1_000 + (stages["revise"]?.outputUpper ?? 0));
  });
});

it("learns characters per token of each model from what engines counted", () => {
  const learner = new RevisionLearner();
  for (let n = 0; n < 200; n += 1) {
    const promptTokens = 1_000 + 7;
    learner.observeSample({
      ...SAMPLE,
      kind: "sample",
      card: "a",
      promptTokens,
      characters: 3_500,
    });
  }
  expect(learner.learnt({ a: 1 }).charsPerToken["m"]).toBeCloseTo(3.5, 2);
});

it("reads the log back, and passes over what a later version wrote", () => {
  expect(decodeLogEntry(encodeLogEntry(call()))).toEqual(call());
  for (const text of ["", "{}", "[]", "null", '{"kind":"later"}', "{"]) {
    expect(decodeLogEntry(text)).toBeUndefined();
  }
});

describe("the window of the tuner", () => {
  const calls = Array.from({ length: 30 }, (_, n) => {
    const workflowArrivedAt = 1e12 + n * 1e6;
    const shared = { workflow: `w${n}`, workflowArrivedAt, sloUs: 10e6 };
    return [
      call({ ...shared, stage: "a", stageIndex: 0, endedAt: workflowArrivedAt + 1e6 }),
      call({ ...shared, stage: "b", stageIndex: 1, endedAt: workflowArrivedAt + (n + 1) * 1e6 }),
      call({
        ...shared,
        stage: "b",
        stageIndex: 1,
        isFinal: true,
        endedAt: workflowArrivedAt + 2e6,
      }),
    ];
  }).flat();

  it("holds workflows with their stages and parallel calls, by arrival", () => {
    const window = windowOf(calls, 1e12 + 60e6);
    expect(window).toHaveLength(30);
    expect(window[3]?.stages.map(({ stage, calls: own }) => [stage, own.length])).toEqual([
      ["a", 1],
      ["b", 2],
    ]);
    expect(observedTail(window)).toBeCloseTo(2.9, 5);
  });

  it("is replayed with the pool as it stands, and gives an alpha", () => {
    const learner = new RevisionLearner();
    for (let seed = 1; seed <= 20; seed += 1) {
      learner.observeSample({ ...sampleOn(3_028, 21_210, seed), kind: "sample", card: "fast" });
      learner.observeSample({ ...sampleOn(1_035, 33_790, seed), kind: "sample", card: "slow" });
    }
    const pool = poolOf(learner.learnt({ fast: 2, slow: 1, unknown: 4 }));
    expect(pool.map(({ name }) => name)).toEqual(["fast", "fast", "slow"]);
    const input = tuningInput({
      window: windowOf(calls, 1e12 + 60e6),
      pool,
      known: undefined,
      order: "urgency",
      binding: "early",
      currentAlpha: 0.3,
    });
    const result = input === null ? undefined : tuneAlpha(input);
    expect(result?.predictions.length).toBeGreaterThanOrEqual(7);
    expect(result?.alpha).toBeGreaterThanOrEqual(0);
  });

  it("is not worth a run with one card or without calls", () => {
    const facts = { known: undefined, order: "fifo", binding: "late", currentAlpha: 0.3 } as const;
    const [card] = poolOf({ cards: {}, charsPerToken: {}, pool: { A100: 1 }, alpha: null });
    const pool = card === undefined ? [] : [card];
    expect(tuningInput({ ...facts, pool, window: windowOf(calls, 1e12) })).toBeNull();
    expect(tuningInput({ ...facts, pool: [...pool, ...pool], window: [] })).toBeNull();
  });
});

describe("alpha", () => {
  const facts = {
    now: 2_000_000,
    pool: "a:1",
    lastFailureAt: 0,
    observedTail: 1,
    tailSinceChange: 1,
    workflowsSinceChange: 0,
  };

  it("is looked at when the pool changed, at most once a minute, and never after a failure", () => {
    const keeper = new AlphaKeeper(null);
    expect(keeper.trigger(facts)).toBe("time-passed");
    expect(keeper.trigger({ ...facts, now: 2_030_000, pool: "a:2" })).toBeUndefined();
    expect(keeper.trigger({ ...facts, now: 2_061_000, pool: "a:2" })).toBe("pool-changed");
    const failed = { now: 2_200_000, pool: "a:1", lastFailureAt: 2_150_000 };
    expect(keeper.trigger({ ...facts, ...failed })).toBeUndefined();
  });

  it("changes with a version, and goes back when it made things worse", () => {
    const keeper = new AlphaKeeper(null);
    const tuned = keeper.tuned(
      { alpha: 0.1, predictedTail: 0.8 },
      { now: 5, window: 60, observedTail: 1 },
      "time-passed",
    );
    expect(tuned).toMatchObject({ alpha: 0.1, version: 1, previous: 0.3, reason: "time-passed" });
    // The calm time before it, still in the window, does not hide what came since.
    const worse = { ...facts, observedTail: 1.1, tailSinceChange: 3 };
    expect(keeper.judge({ ...worse, workflowsSinceChange: 49 })).toBeNull();
    const undone = keeper.judge({ ...worse, workflowsSinceChange: 50 });
    expect(undone).toMatchObject({ alpha: 0.3, version: 2, previous: 0.1, reason: "rolled-back" });
    expect(keeper.judge({ ...worse, workflowsSinceChange: 99 })).toBeNull();
  });

  it("does not try again for an hour what it undid, unless the pool changed", () => {
    const keeper = new AlphaKeeper(null);
    const best = { alpha: 0.1, predictedTail: 0.8 };
    const at = (now: number) => ({ now, window: 60, observedTail: 1 });
    keeper.trigger(facts);
    keeper.tuned(best, at(5), "time-passed");
    keeper.judge({ ...facts, tailSinceChange: 3, workflowsSinceChange: 50 });
    expect(keeper.tuned(best, at(facts.now + 3_599_000), "prediction-missed")).toBeNull();
    expect(keeper.alpha).toBe(0.3);
    expect(keeper.tuned({ ...best, alpha: 0.2 }, at(facts.now + 1), "time-passed")?.alpha).toBe(
      0.2,
    );
    keeper.trigger({ ...facts, now: facts.now + 70_000, pool: "a:2" });
    expect(keeper.tuned(best, at(facts.now + 70_000), "pool-changed")?.alpha).toBe(0.1);
  });

  it("is not judged by a first run that confirms where it began", () => {
    const keeper = new AlphaKeeper(null);
    const confirmed = { alpha: 0.3, predictedTail: 0.8 };
    keeper.tuned(confirmed, { now: 5, window: 60, observedTail: 1 }, "time-passed");
    const worse = { ...facts, tailSinceChange: 9, workflowsSinceChange: 60 };
    expect(keeper.judge(worse)).toBeNull();
    expect(keeper.choice).toMatchObject({ alpha: 0.3, version: 1 });
  });

  it("stays when the run confirms it, with its new prediction", () => {
    const keeper = new AlphaKeeper(null);
    const now = { now: 5, window: 60, observedTail: 1 };
    keeper.tuned({ alpha: 0.2, predictedTail: 0.9 }, now, "time-passed");
    expect(keeper.tuned({ alpha: 0.2, predictedTail: 0.7 }, now, "pool-changed")).toBeNull();
    expect(keeper.choice).toMatchObject({ version: 1, predictedTail: 0.7 });
  });
});
