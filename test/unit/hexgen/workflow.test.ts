/** Workflows: headers, hints, opening and closing of calls; and the two other dispatch rules. */
import { describe, expect, it } from "vitest";
import { declaredSloMs, parseWorkflowHeaders } from "../../../common/contracts/workflow-headers.ts";
import type { BatchTarget } from "../../../common/hexgen/batch-dispatch.ts";
import { chooseForBatch, engineUs, meanLogSpeeds } from "../../../common/hexgen/batch-dispatch.ts";
import {
  chooseByCompletion,
  chooseByWorkBalance,
  scoreScale,
  workBalanceScore,
} from "../../../common/hexgen/dispatch.ts";
import {
  createTemplate,
  expectedTime,
  parseTemplateHint,
} from "../../../common/hexgen/template.ts";
import { closeCall, createWorkflow, openCall } from "../../../common/hexgen/workflow.ts";
import { createRandom } from "../../../common/random.ts";
import { parseOrderHeader } from "../../../common/urgency.ts";

const headers = (fields: Record<string, string>) => parseWorkflowHeaders((name) => fields[name]);

describe("workflow headers", () => {
  it("reads all of them", () => {
    const parsed = headers({
      "x-workflow-id": "q-8f2c",
      "x-workflow-class": "text2sql",
      "x-workflow-stage": "revise",
      "x-workflow-stage-index": "6",
      "x-workflow-call-id": "q-8f2c/6/0",
      "x-workflow-fanout": "2/5",
      "x-workflow-remaining": "tester,evaluate~5",
      "x-workflow-slo-ms": "120000",
      "x-workflow-final": "true",
      "x-tenant-id": "acme",
      "x-output-tokens-hint": "80",
    });
    expect(parsed).toMatchObject({
      workflowId: "q-8f2c",
      workflowClass: "text2sql",
      stage: "revise",
      stageIndex: 6,
      callId: "q-8f2c/6/0",
      fanout: { position: 2, of: 5 },
      sloMs: 120_000,
      isFinal: true,
      tenant: "acme",
      outputTokensHint: 80,
      malformed: [],
    });
    expect(parsed.remaining?.map(({ stage }) => stage)).toEqual(["tester", "evaluate"]);
  });

  it("takes a call without any for a workflow of one stage", () => {
    expect(headers({})).toEqual({ isFinal: false, malformed: [] });
  });

  it.each([
    ["x-workflow-id", "a".repeat(129)],
    ["x-workflow-id", "with space"],
    ["x-workflow-stage-index", "-1"],
    ["x-workflow-fanout", "6/5"],
    ["x-workflow-fanout", "0/5"],
    ["x-workflow-remaining", "revise*"],
    ["x-workflow-slo-ms", "soon"],
    ["x-workflow-slo-ms", "0"],
    ["x-workflow-slo-ms", "90000000"],
    ["x-workflow-deadline-ms", "1.5"],
    ["x-workflow-final", "yes"],
    ["x-output-tokens-hint", "1e9"],
  ])("names %s when it is %s, and goes on", (name, value) => {
    expect(headers({ [name]: value })).toEqual({ isFinal: false, malformed: [name] });
  });

  it("takes the tenant from the first alias that is there", () => {
    expect(headers({ "x-llm-d-inference-fairness-id": "b" }).tenant).toBe("b");
    expect(headers({ "x-tenant-id": "a", "x-llm-d-inference-fairness-id": "b" }).tenant).toBe("a");
  });

  it("takes the earlier of objective and deadline, else the token objectives", () => {
    const both = headers({ "x-workflow-slo-ms": "9000", "x-workflow-deadline-ms": "105000" });
    expect(declaredSloMs(both, 100_000, 50)).toBe(5_000);
    const tokens = headers({ "x-slo-ttft-ms": "400", "x-slo-tpot-ms": "20" });
    expect(declaredSloMs(tokens, 100_000, 50)).toBe(1_400);
    expect(declaredSloMs(headers({}), 100_000, 50)).toBeUndefined();
  });
});

describe("order header", () => {
  it.each(["0;1764541234568;42", "1;-14260;7"])("reads %s back", (text) => {
    const order = parseOrderHeader(text);
    expect(`${order?.orderClass};${order?.key};${order?.sequence}`).toBe(text);
  });

  it.each(["2;1;1", "0;1", "0;1.5;1", "0;;1", "0;1;-1", ""])("refuses %j", (text) => {
    expect(parseOrderHeader(text)).toBeUndefined();
  });
});

describe("template hints", () => {
  it("expands repeats, weighs by probability, counts parallel calls once", () => {
    const template = parseTemplateHint("revise*3?0.27, tester,evaluate~5");
    expect(template?.map(({ stage }) => stage)).toEqual([
      "revise",
      "revise",
      "revise",
      "tester",
      "evaluate",
    ]);
    expect(template?.map(({ optional }) => optional)).toEqual([true, true, true, false, false]);
    expect(expectedTime(template ?? [], () => 100)).toBeCloseTo(281, 9);
  });

  it("takes an empty hint for the last stage", () => {
    expect(parseTemplateHint("")).toEqual([]);
  });

  it.each(["a,,b", "a*65", "a*9999", "a?2", "a b", "?0.5", "a*30,b*40"])("refuses %j", (hint) => {
    expect(parseTemplateHint(hint)).toBeUndefined();
  });
});

describe("workflow state", () => {
  const template = createTemplate(["plan", "draft", "check"], ["draft"]);
  const times: Record<string, number> = { plan: 1_000, draft: 4_000, check: 5_000 };
  const call = (callId: string, stage: string, stageIndex: number, now: number) => ({
    callId,
    stage,
    stageIndex,
    now,
    timeOf: (name: string) => times[name] ?? 0,
  });

  it("gives siblings the same plan and counts each call once", () => {
    const fresh = createWorkflow(1_000, 60_000, template);
    const first = openCall(fresh, call("a", "plan", 0, 1_000));
    const again = openCall(first.workflow, call("a", "plan", 0, 9_000));
    const sibling = openCall(again.workflow, call("b", "plan", 0, 2_000));
    expect(first.plan).toEqual({ readyAt: 1_000, budget: 6_000, rest: 10_000 });
    expect(again.plan).toEqual(first.plan);
    expect(sibling.plan).toEqual(first.plan);
    expect(sibling.workflow.open).toBe(2);
    const closed = closeCall(closeCall(sibling.workflow, "a"), "a");
    expect(closed.open).toBe(1);
    expect(closeCall(closed, "unknown")).toBe(closed);
  });

  it("carries debt into the next stage and drops what was skipped", () => {
    const fresh = createWorkflow(0, 60_000, template);
    const first = openCall(fresh, call("a", "plan", 0, 0));
    const late = openCall(first.workflow, call("b", "check", 1, 30_000));
    expect(late.plan).toEqual({ readyAt: 30_000, budget: 30_000, rest: 5_000 });
    expect(late.workflow.template).toEqual([]);
  });

  it("bounds the debt at one objective", () => {
    const fresh = createWorkflow(0, 60_000, template);
    const late = openCall(fresh, call("a", "check", 0, 500_000));
    // The plan was never made and is not optional, so it keeps its sixth.
    expect(late.plan.budget).toBe(-50_000);
  });

  it("believes a hint instead of the template", () => {
    const fresh = createWorkflow(0, 60_000, template);
    const hint = createTemplate(["check", "check"], []);
    const { plan } = openCall(fresh, { ...call("a", "plan", 0, 0), hint });
    expect(plan.rest).toBe(11_000);
  });

  it("leaves an earlier stage's late call in its present stage", () => {
    const fresh = createWorkflow(0, 60_000, template);
    const second = openCall(fresh, call("b", "draft", 1, 5_000));
    const straggler = openCall(second.workflow, call("a", "plan", 0, 6_000));
    expect(straggler.workflow.stageIndex).toBe(1);
    expect(straggler.plan).toEqual(second.plan);
  });
});

describe("dispatch", () => {
  it("finds with heads per profile what scoring every target finds", () => {
    const random = createRandom(11);
    for (let round = 0; round < 2_000; round += 1) {
      const alpha = Math.round(random() * 10) / 10;
      const timesUs = [1_000, 2_000, 3_500].map((time) => time * (1 + Math.floor(random() * 3)));
      const targets = Array.from({ length: 1 + Math.floor(random() * 30) }, (_, ordinal) => {
        const profile = Math.floor(random() * 3);
        const outstandingUs = Math.floor(random() * 6) * 1_000;
        return { ordinal, profile, serviceUs: timesUs[profile] ?? 1, outstandingUs, canTake: true };
      });
      const scale = scoreScale(targets);
      const scores = targets.map((target) => workBalanceScore(target, alpha, scale));
      const best = Math.max(...scores);
      const [expected] = targets
        .filter((_, index) => (scores[index] ?? 0) >= best - 1e-9)
        .toSorted((one, two) => one.outstandingUs - two.outstandingUs || one.ordinal - two.ordinal);
      expect(chooseByWorkBalance(targets, alpha)).toBe(expected);
    }
  });

  it("takes the earliest completion, the first on ties, and only who can take it", () => {
    const target = (ordinal: number, serviceUs: number, outstandingUs: number, canTake = true) => ({
      ordinal,
      profile: ordinal,
      serviceUs,
      outstandingUs,
      canTake,
    });
    const targets = [target(2, 10, 5), target(1, 5, 10), target(0, 1, 1, false)];
    expect(chooseByCompletion(targets)?.ordinal).toBe(1);
    expect(chooseByCompletion([])).toBeUndefined();
  });
});

describe("dispatch for engines that batch", () => {
  const fast = {
    profile: { prefillTokensPerS: 3_000, tokenUs: 20_000, batchSlope: 0 },
    kvTokens: 57_600,
  };
  const roomy = {
    profile: { prefillTokensPerS: 1_000, tokenUs: 30_000, batchSlope: 0 },
    kvTokens: 155_300,
  };
  const size = (inputTokens: number, outputTokens: number) => ({
    inputTokens,
    outputTokens,
    cachedTokens: 0,
  });

  it("charges prefill in full and decode by the cache that a call holds", () => {
    const short = engineUs(fast, size(300, 100));
    expect(short).toBe(100_000 + (100 * 20_000) / 16);
    expect(engineUs(fast, size(36_480, 100))).toBe(12_160_000 + 100 * 20_000);
  });

  /** Engine time of a workflow of the benchmark. */
  const WAY_US = 19_334_551;

  const target = (fields: Partial<BatchTarget> & { ordinal: number }): BatchTarget => ({
    serviceUs: 1_000_000,
    engineUs: 1_000_000,
    loadUs: 0,
    meanLogSpeed: 0,
    canTake: true,
    ...fields,
  });

  it("takes the fast card of an idle pool, the lighter one of equal cards", () => {
    const slow = target({ ordinal: 0, serviceUs: 2_000_000, engineUs: 900_000 });
    expect(chooseForBatch([slow, target({ ordinal: 1 })], 0.3, WAY_US)?.ordinal).toBe(1);
    const loaded = target({ ordinal: 0, loadUs: 5 });
    expect(chooseForBatch([loaded, target({ ordinal: 1 })], 0.3, WAY_US)?.ordinal).toBe(1);
    expect(
      chooseForBatch([target({ ordinal: 1 }), target({ ordinal: 0 })], 0, WAY_US)?.ordinal,
    ).toBe(0);
    expect(chooseForBatch([target({ ordinal: 0, canTake: false })], 0.3, WAY_US)).toBeUndefined();
  });

  it("sends each kind of call where it is comparatively cheap, once the pool is busy", () => {
    const template = createTemplate(["long", "wordy"], []);
    const sizes: Record<string, ReturnType<typeof size>> = {
      long: size(12_000, 20),
      wordy: size(12_000, 900),
    };
    const costs = (stage: string) =>
      [fast, roomy].map((card) => engineUs(card, sizes[stage] ?? size(0, 0)));
    const speeds = meanLogSpeeds(template, costs);
    const choose = (stage: string) =>
      chooseForBatch(
        [fast, roomy].map((_, ordinal) =>
          target({
            ordinal,
            engineUs: costs(stage)[ordinal] ?? 0,
            loadUs: 60_000_000,
            meanLogSpeed: speeds[ordinal] ?? 0,
          }),
        ),
        0,
        WAY_US,
      )?.ordinal;
    expect(choose("long")).toBe(0);
    expect(choose("wordy")).toBe(1);
  });

  it("judges a model that is a hundred times as fast alike", () => {
    const loads = [0, 3_000_000, 9_000_000, 60_000_000];
    for (const loadUs of loads) {
      const choose = (speed: number): number | undefined => {
        const fastOne = target({ ordinal: 0, loadUs: loadUs / speed, serviceUs: 1e6 / speed });
        const slowOne = target({ ordinal: 1, loadUs: loadUs / 2 / speed, serviceUs: 2e6 / speed });
        const pair = [fastOne, slowOne].map((each) => ({ ...each, engineUs: 1e6 / speed }));
        return chooseForBatch(pair, 0.3, WAY_US / speed)?.ordinal;
      };
      expect(choose(100), String(loadUs)).toBe(choose(1));
    }
  });
});
