/** Estimators: profiles, output lengths, token ratios, bodies, alpha choice and its trigger. */
import { describe, expect, it } from "vitest";
import type { TuningSituation } from "../../../common/hexgen/alpha.ts";
import { refinedAlphas, tuningTrigger } from "../../../common/hexgen/alpha.ts";
import { TokenRatio } from "../../../common/hexgen/body-estimate.ts";
import { knownCard } from "../../../common/hexgen/known-cards.ts";
import { readModelBody } from "../../../common/hexgen/model-body.ts";
import { createOutputLengths, OutputLengths } from "../../../common/hexgen/output-lengths.ts";
import { WaitRatio } from "../../../common/hexgen/outstanding.ts";
import { ProfileFit, widenedBy } from "../../../common/hexgen/profile-fit.ts";
import { createRandom } from "../../../common/random.ts";

const prior = { prefillTokensPerS: 3_028, tokenUs: 21_210, batchSlope: 0 };

describe("profile fitting", () => {
  it("finds the card behind noisy calls, batch slope included", () => {
    const fit = new ProfileFit(prior);
    const truth = { prefillTokensPerS: 1_600, tokenUs: 30_000, batchSlope: 0.04 };
    const random = createRandom(3);
    for (let call = 0; call < 600; call += 1) {
      const uncachedTokens = 200 + Math.floor(random() * 12_000);
      const outputTokens = 1 + Math.floor(random() * 600);
      const meanBatch = 1 + Math.floor(random() * 8);
      const exactUs =
        (1e6 * uncachedTokens) / truth.prefillTokensPerS +
        outputTokens * truth.tokenUs * (1 + truth.batchSlope * (meanBatch - 1));
      const tookUs = exactUs * (0.95 + 0.1 * random());
      fit.observe({ stage: "revise", uncachedTokens, outputTokens, meanBatch, tookUs });
    }
    const found = fit.profile();
    expect(found.prefillTokensPerS / truth.prefillTokensPerS).toBeCloseTo(1, 1);
    expect(found.tokenUs / truth.tokenUs).toBeCloseTo(1, 1);
    expect(found.batchSlope).toBeCloseTo(truth.batchSlope, 1);
    expect(fit.stageError("revise").relativeError).toBeLessThan(0.1);
    expect(fit.count).toBe(600);
  });

  it("leaves the prior by a factor of four at most", () => {
    const fit = new ProfileFit(prior);
    const call = { stage: "odd", uncachedTokens: 1_000, outputTokens: 50, meanBatch: 1 };
    for (let index = 0; index < 200; index += 1) fit.observe({ ...call, tookUs: 3e9 });
    expect(fit.profile().tokenUs).toBeLessThanOrEqual(prior.tokenUs * 4 + 1e-6);
    expect(fit.profile().prefillTokensPerS).toBeGreaterThanOrEqual(
      prior.prefillTokensPerS / 4 - 1e-6,
    );
  });

  it("raises an alert after fifty bad predictions and takes it back after good ones", () => {
    const fit = new ProfileFit(prior);
    const call = { stage: "odd", uncachedTokens: 1_000, outputTokens: 50, meanBatch: 1 };
    for (let index = 0; index < 49; index += 1) fit.observe({ ...call, tookUs: 3e9 });
    expect(fit.stageError("odd").alert).toBe(false);
    for (let index = 0; index < 60; index += 1) fit.observe({ ...call, tookUs: 3e9 });
    expect(fit.stageError("odd").alert).toBe(true);
    const { relativeError } = fit.stageError("odd");
    expect(widenedBy(fit.stageError("odd"))).toBe(1 + Math.min(relativeError, 1));
    for (let index = 0; index < 200; index += 1) {
      const predictedUs =
        (1e6 * 1_000) / fit.profile().prefillTokensPerS + 50 * fit.profile().tokenUs;
      fit.observe({ ...call, tookUs: predictedUs });
    }
    expect(fit.stageError("odd").alert).toBe(false);
    expect(widenedBy(fit.stageError("odd"))).toBe(1);
  });

  it("widens budgets at most twice, and by nothing where nothing is known", () => {
    expect(widenedBy({ relativeError: 0.4, alert: true })).toBe(1.4);
    expect(widenedBy({ relativeError: 7, alert: true })).toBe(2);
    expect(widenedBy({ relativeError: 0.4, alert: false })).toBe(1);
    expect(widenedBy(undefined)).toBe(1);
  });

  it("ignores a call that says nothing", () => {
    const fit = new ProfileFit(prior);
    const empty = { uncachedTokens: 0, outputTokens: 0, meanBatch: 1 };
    fit.observe({ stage: "none", ...empty, tookUs: 5 });
    expect(fit.count).toBe(0);
    expect(fit.profile()).toEqual(prior);
  });
});

describe("output lengths", () => {
  it("answers nothing before the first call", () => {
    expect(new OutputLengths().median()).toBeUndefined();
  });

  it("gives median and upper percentile of what was seen", () => {
    const lengths = new OutputLengths();
    for (let round = 0; round < 10; round += 1) {
      for (const tokens of [20, 40, 60, 92, 250, 400, 1_078]) lengths.observe(tokens);
    }
    expect(lengths.median()).toBe(92);
    expect(lengths.upper()).toBe(400);
  });

  it("forgets half in five hundred calls", () => {
    const lengths = new OutputLengths();
    for (let call = 0; call < 600; call += 1) lengths.observe(10);
    for (let call = 0; call < 300; call += 1) lengths.observe(1_000);
    expect(lengths.median()).toBe(10);
    for (let call = 0; call < 100; call += 1) lengths.observe(1_000);
    expect(lengths.median()).toBe(1_000);
  });

  it("goes on from a published state, and after very many calls", () => {
    const lengths = new OutputLengths();
    for (let call = 0; call < 30_000; call += 1) lengths.observe(call % 2 === 0 ? 5 : 700);
    const copy = createOutputLengths(lengths.state());
    expect(copy.count).toBe(30_000);
    expect(copy.quantile(0.2)).toBe(5);
    expect(copy.upper()).toBe(700);
  });
});

describe("token ratio and waits", () => {
  it("starts by the kind of text and follows the model's own count", () => {
    const ratio = new TokenRatio();
    expect(ratio.charsPerToken(0)).toBe(4);
    expect(ratio.charsPerToken(0.9)).toBe(2);
    ratio.observe(3_600, 1, 1_007);
    expect(ratio.charsPerToken(0)).toBeCloseTo(3.6, 9);
    ratio.observe(0, 1, 500);
    expect(ratio.charsPerToken(0.9)).toBeCloseTo(3.6, 9);
  });

  it("learns how much of the outstanding work is really waited for", () => {
    const ratio = new WaitRatio();
    expect(ratio.waitUs(1_000)).toBe(1_000);
    for (let call = 0; call < 300; call += 1) ratio.observe(250, 1_000);
    expect(ratio.waitUs(1_000)).toBeCloseTo(250, 0);
    ratio.observe(99, 0);
    expect(ratio.waitUs(1_000)).toBeCloseTo(250, 0);
  });
});

describe("model bodies", () => {
  it("reads chat messages with text, parts and images", () => {
    const body = readModelBody({
      model: "m",
      messages: [
        { role: "system", content: "abc" },
        {
          role: "user",
          content: [
            { type: "text", text: "defg" },
            { type: "image_url", image_url: { url: "x", detail: "low" } },
            { type: "image_url", image_url: { url: "y" } },
          ],
        },
      ],
      max_tokens: 50,
      max_completion_tokens: 40,
      n: 3,
    });
    expect(body).toMatchObject({
      model: "m",
      characters: 7,
      messages: 2,
      maxTokens: 40,
      answers: 3,
    });
    expect(body?.imageTokens).toBe(85 + 85 + 4 * 170);
  });

  it("reads prompts of the older forms", () => {
    expect(readModelBody({ prompt: "hello" })?.characters).toBe(5);
    expect(readModelBody({ input: ["ab", "cd"] })?.characters).toBe(4);
    expect(readModelBody({ prompt: "東京都庁" })?.cjkShare).toBe(1);
  });

  it("says nothing about other bodies", () => {
    for (const body of [null, 3, "text", [], {}, { prompt: 5 }]) {
      expect(readModelBody(body)).toBeUndefined();
    }
  });

  it("has equal fingerprints for equal beginnings only", () => {
    const shared = "x".repeat(3_000);
    const one = readModelBody({ prompt: `${shared}one` })?.fingerprints ?? [];
    const two = readModelBody({ prompt: `${shared}two` })?.fingerprints ?? [];
    const other = readModelBody({ prompt: `y${shared}` })?.fingerprints ?? [];
    expect(one).toHaveLength(2);
    expect(two).toEqual(one);
    expect(other[0]).not.toBe(one[0]);
  });
});

describe("alpha", () => {
  const calm: TuningSituation = {
    now: 1_000_000,
    lastRunAt: 900_000,
    lastFailureAt: 0,
    poolChanged: false,
    observedTail: 1,
    predictedTail: 1,
  };

  it.each<[string, Partial<TuningSituation>, string | undefined]>([
    ["nothing happened", {}, undefined],
    ["the pool changed", { poolChanged: true }, "pool-changed"],
    ["the last run is too close", { poolChanged: true, lastRunAt: 950_000 }, undefined],
    ["a target failed just now", { poolChanged: true, lastFailureAt: 890_000 }, undefined],
    ["the tail is a fifth off", { observedTail: 1.21 }, "prediction-missed"],
    ["a quarter of an hour passed", { lastRunAt: 100_000 }, "time-passed"],
  ])("is tuned when %s", (_name, change, expected) => {
    expect(tuningTrigger({ ...calm, ...change })).toBe(expected);
  });

  it("is refined inside its range", () => {
    expect(refinedAlphas(0)).toEqual([0.05]);
    expect(refinedAlphas(0.3)).toEqual([0.25, 0.35]);
  });

  it("has figures for cards by name only", () => {
    expect(knownCard("A100")?.kvTokens).toBe(57_600);
    expect(knownCard("toString")).toBeUndefined();
  });
});
