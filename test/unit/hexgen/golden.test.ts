/** All golden cases of the scheduling rules, run on the code that the product uses. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createRandom } from "../../../common/random.ts";
import { chooseAlpha } from "../../../common/hexgen/alpha.ts";
import {
  estimateOutputTokens,
  estimatePromptTokens,
} from "../../../common/hexgen/body-estimate.ts";
import { stageBudget } from "../../../common/hexgen/budget.ts";
import type { CardProfile } from "../../../common/hexgen/cost.ts";
import { exactServiceUs, meanServiceUs, serviceUs } from "../../../common/hexgen/cost.ts";
import {
  chooseAsPublished,
  chooseByWorkBalance,
  chooseForPlan,
  publishedScore,
  scoreScale,
  workBalanceScore,
} from "../../../common/hexgen/dispatch.ts";
import { drawArrivalsUs, drawFrom } from "../../../common/hexgen/draws.ts";
import { OutstandingWork } from "../../../common/hexgen/outstanding.ts";
import type { TemplateRule } from "../../../common/hexgen/template.ts";
import { advanceTemplate, createTemplate, expectedTime } from "../../../common/hexgen/template.ts";
import type { WaitingEntry } from "../../../common/hexgen/waiting-queue.ts";
import { WaitingQueue } from "../../../common/hexgen/waiting-queue.ts";
import type { RankedCall } from "../../../common/urgency.ts";
import {
  compareOrderKeys,
  formatOrderHeader,
  latestStart,
  orderClass,
  orderKey,
  parseQueueOrder,
  ReservedShare,
  urgency,
} from "../../../common/urgency.ts";

// Shapes of the golden file differ per kind of case; each runner names what it reads.
type Fields = Record<string, never>;
interface GoldenCase {
  readonly id: string;
  readonly kind: string;
  readonly why: string;
  readonly given: Fields;
  readonly expect: Fields;
  readonly digits?: number;
}
interface GoldenFile {
  readonly digits: number;
  readonly count: number;
  readonly cases: readonly GoldenCase[];
}

const golden = JSON.parse(
  readFileSync(new URL("../../fixtures/hexgen-golden.json", import.meta.url), "utf8"),
) as GoldenFile;

interface GivenCard {
  prefill_tokens_per_s: number;
  tpot_us: number;
}
const card = (given: GivenCard): CardProfile => ({
  prefillTokensPerS: given.prefill_tokens_per_s,
  tokenUs: given.tpot_us,
  batchSlope: 0,
});

interface GivenTarget {
  id: string;
  ordinal: number;
  t_us: number;
  q_us: number;
  profile?: string;
  eligible?: boolean;
  kv_room?: boolean;
  start_up_left_us?: number;
}
const dispatchTarget = (given: GivenTarget) => ({
  id: given.id,
  ordinal: given.ordinal,
  profile: given.profile ?? given.id,
  serviceUs: given.t_us,
  outstandingUs: given.q_us,
  canTake: given.kv_room ?? true,
  startUpLeftUs: given.start_up_left_us ?? 0,
});

interface GivenCall {
  id: string;
  seq: number;
  ready_ms?: number;
  budget_ms?: number;
  t_ms?: number;
  deadline_ms?: number;
  rest_ms?: number;
  workflow_arrival_ms?: number;
}
const rankedCall = (given: GivenCall): RankedCall => ({
  readyAt: given.ready_ms ?? 0,
  budget: given.budget_ms ?? 0,
  serviceTime: given.t_ms ?? 0,
  workflowArrivedAt: given.workflow_arrival_ms ?? 0,
  deadlineAt: given.deadline_ms ?? 0,
  rest: given.rest_ms ?? 0,
});

interface Expected {
  [name: string]: unknown;
}
/** Rounds every number inside to the digits given, so that equality is the agreement asked for. */
function rounded(value: unknown, digits: number): unknown {
  if (typeof value === "number") return Number(value.toFixed(digits));
  if (Array.isArray(value)) return value.map((entry) => rounded(entry, digits));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, rounded(entry, digits)]),
  );
}
const byId = <T>(items: readonly { id: string }[], values: readonly T[]): Record<string, T> =>
  Object.fromEntries(items.map((item, index) => [item.id, values[index] as T]));

/** The order in which a real queue hands the calls out at one instant. */
function servedOrder(given: readonly GivenCall[], orderName: string, now: number): string[] {
  const order = parseQueueOrder(orderName);
  if (order === undefined) throw new Error(`unknown order ${orderName}`);
  const queue = new WaitingQueue<WaitingEntry & { id: string }>({ order });
  for (const item of given) {
    const call = rankedCall(item);
    queue.push({
      id: item.id,
      orderClass: 0,
      key: orderKey(order, call, 0),
      sequence: item.seq,
      deadlineAt: call.deadlineAt,
      rest: call.rest,
      waitingSince: now,
    });
  }
  const served: string[] = [];
  for (;;) {
    const head = queue.head(now);
    if (head === undefined) return served;
    queue.admit(head);
    served.push(head.id);
  }
}

const runners: Record<string, (given: never, expected: Expected) => unknown> = {
  t_comp: (given: GivenCard & Record<string, number>) => {
    const size = {
      inputTokens: given["input_tokens"] ?? 0,
      outputTokens: given["output_tokens"] ?? 0,
      cachedTokens: given["cached_tokens"] ?? 0,
    };
    return {
      before_rounding_ms: exactServiceUs(card(given), size) / 1000,
      t_us: serviceUs(card(given), size),
    };
  },
  outstanding: (given: {
    card: GivenCard;
    calls: Record<string, [number, number]>;
    events: string[];
  }) => {
    const timeUs = Object.fromEntries(
      Object.entries(given.calls).map(([id, [inputTokens, outputTokens]]) => [
        id,
        serviceUs(card(given.card), { inputTokens, outputTokens, cachedTokens: 0 }),
      ]),
    );
    const work = new OutstandingWork();
    const trail = given.events.map((event) => {
      const id = event.slice(1);
      if (event.startsWith("+")) work.add(id, "target", timeUs[id] ?? 0);
      else work.remove(id);
      return work.of("target");
    });
    return { t_us: timeUs, q_us: trail };
  },
  dispatch: (given: { alpha: number; targets: GivenTarget[] }) => {
    const targets = given.targets.filter((target) => target.eligible !== false).map(dispatchTarget);
    const scale = scoreScale(targets);
    return {
      scores: byId(
        targets,
        targets.map((target) => workBalanceScore(target, given.alpha, scale)),
      ),
      chosen: chooseByWorkBalance(targets, given.alpha)?.id ?? null,
    };
  },
  plan: (given: { alpha: number; targets: GivenTarget[] }) => {
    const targets = given.targets.map(dispatchTarget);
    const waiting = targets.map((target) => ({
      ...target,
      outstandingUs: target.outstandingUs + target.startUpLeftUs,
    }));
    const scale = scoreScale(waiting);
    return {
      scores: byId(
        waiting,
        waiting.map((target) => workBalanceScore(target, given.alpha, scale)),
      ),
      chosen: chooseForPlan(targets, given.alpha)?.id,
    };
  },
  dispatch_repo: (
    given: { alpha: number; targets: { id: string; gpu: string; t_us: number; cum_us: number }[] },
    expected,
  ) => {
    const targets = given.targets.map((target) => ({
      id: target.id,
      gpu: target.gpu,
      serviceUs: target.t_us,
      cumulativeUs: target.cum_us,
    }));
    const [reference] = targets;
    if (reference === undefined) throw new Error("no target");
    const scores =
      expected["scores"] === null
        ? null
        : byId(
            targets,
            targets.map((target) => publishedScore(target, reference, given.alpha)),
          );
    return { scores, chosen: chooseAsPublished(targets, given.alpha)?.id };
  },
  budget: (given: {
    rules: TemplateRule[];
    slo_ms: number;
    elapsed_ms: number;
    e_this_ms: number;
    e_rest_ms: number[];
  }) => {
    const budgets = given.rules.map((rule) =>
      stageBudget({
        slo: given.slo_ms,
        elapsed: given.elapsed_ms,
        expectedNow: given.e_this_ms,
        expectedLater: given.e_rest_ms.reduce((sum, time) => sum + time, 0),
        debt: rule === "general" ? "bounded" : "unbounded",
      }),
    );
    expect(new Set(budgets).size).toBe(1);
    return { budget_ms: budgets[0] };
  },
  template: (given: {
    rules: TemplateRule[];
    template: string[];
    optional: string[];
    started: string[];
  }) => {
    const outcomes = given.rules.map((rule) => {
      let left = createTemplate(given.template, given.optional);
      for (const stage of given.started) left = advanceTemplate(rule, left, stage);
      return left.map((entry) => entry.stage);
    });
    for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0]);
    return { remaining: outcomes[0] };
  },
  budget_pool: (given: {
    pool: GivenCard[];
    template: string[];
    optional: string[];
    template_io: Record<string, [number, number]>;
    elapsed_ms: number;
    stage: string;
  }) => {
    const pool = given.pool.map(card);
    const meanMs = Object.fromEntries(
      Object.entries(given.template_io).map(([stage, [inputTokens, outputTokens]]) => [
        stage,
        meanServiceUs(pool, { inputTokens, outputTokens, cachedTokens: 0 }) / 1000,
      ]),
    );
    const timeOf = (stage: string) => meanMs[stage] ?? 0;
    const template = createTemplate(given.template, given.optional);
    const sloMs = expectedTime(template, timeOf);
    let left = template;
    for (const stage of given.template.slice(0, given.template.indexOf(given.stage) + 1)) {
      left = advanceTemplate("general", left, stage);
    }
    return {
      e_mean_ms: meanMs,
      base_slo_ms: sloMs,
      budget_ms: stageBudget({
        slo: sloMs,
        elapsed: given.elapsed_ms,
        expectedNow: timeOf(given.stage),
        expectedLater: expectedTime(left, timeOf),
        debt: "bounded",
      }),
    };
  },
  order: (given: { now_ms: number; order: string; queue: GivenCall[] }, expected) => {
    const order = parseQueueOrder(given.order);
    if (order === undefined) throw new Error(`unknown order ${given.order}`);
    const calls = given.queue.map(rankedCall);
    const classes = calls.map((call) => orderClass(order, call, given.now_ms));
    const keys = calls.map((call, index) => orderKey(order, call, classes[index] ?? 0));
    const sorted = given.queue
      .map((item, index) => ({
        id: item.id,
        orderClass: classes[index] ?? 0,
        key: keys[index] ?? 0,
        sequence: item.seq,
      }))
      .toSorted(compareOrderKeys)
      .map(({ id }) => id);
    const served = { order: servedOrder(given.queue, given.order, given.now_ms) };
    expect(sorted).toEqual(expected["order"]);
    if (order === "urgency") {
      return { class: byId(given.queue, classes), key_ms: byId(given.queue, keys), ...served };
    }
    const starts = calls.map((call) => latestStart(call.readyAt, call.budget, call.serviceTime));
    const urgencies = calls.map((call) => urgency(call, given.now_ms));
    return {
      latest_start_ms: byId(given.queue, starts),
      urgency_ms: byId(given.queue, urgencies),
      ...served,
    };
  },
  orders: (given: { now_ms: number; queue: GivenCall[] }, expected) =>
    Object.fromEntries(
      Object.keys(expected).map((order) => [order, servedOrder(given.queue, order, given.now_ms)]),
    ),
  share: (given: { class0_waiting: number; class1_waiting: number }) => {
    const share = new ReservedShare();
    const waiting: [number, number] = [given.class0_waiting, given.class1_waiting];
    const classes: number[] = [];
    while (waiting[0] + waiting[1] > 0) {
      const admitted = share.next(waiting[0], waiting[1]);
      waiting[admitted] -= 1;
      share.admitted(admitted, waiting[1]);
      classes.push(admitted);
    }
    return { classes };
  },
  order_header: (given: { class: 0 | 1; key_ms: number; sequence: number }) => ({
    header: formatOrderHeader({
      orderClass: given.class,
      key: given.key_ms,
      sequence: given.sequence,
    }),
  }),
  alpha: (given: { p95_s: Record<string, number>; current: string; hysteresis: number }) => {
    const predictions = Object.entries(given.p95_s).map(([alpha, tail]) => ({
      alpha: Number(alpha),
      tail,
    }));
    return {
      alpha: chooseAlpha(predictions, Number(given.current), given.hysteresis).toFixed(1),
    };
  },
  body_tokens: (given: { chars: number; messages: number; chars_per_token: number }) => ({
    input_tokens: estimatePromptTokens({
      characters: given.chars,
      messages: given.messages,
      charsPerToken: given.chars_per_token,
    }),
  }),
  body_output: (given: { stage_p50: number | null; max_tokens: number; default: number }) => ({
    output_tokens: estimateOutputTokens({
      stageMedian: given.stage_p50 ?? undefined,
      maxTokens: given.max_tokens,
    }),
  }),
  mulberry32: (given: { seed: number; count: number }) => {
    const random = createRandom(given.seed);
    return { u: Array.from({ length: given.count }, () => random()) };
  },
  arrivals: (given: { seed: number; rate: number; workflows: number; scales: number[] }) => {
    const random = createRandom(given.seed);
    return {
      arrival_us: drawArrivalsUs(random, given.rate, given.workflows),
      scale: drawFrom(random, given.scales, given.workflows),
    };
  },
};

describe("golden cases of the scheduling rules", () => {
  it("has all of them", () => {
    expect(golden.cases).toHaveLength(golden.count);
    expect(golden.count).toBe(67);
  });

  it.each(golden.cases.map((row) => [row.id, row.why, row] as const))(
    "%s: %s",
    (_id, _why, row) => {
      const run = runners[row.kind];
      if (run === undefined) throw new Error(`no runner for ${row.kind}`);
      const digits = row.digits ?? golden.digits;
      const actual = run(row.given as never, row.expect);
      expect(rounded(actual, digits)).toEqual(row.expect);
    },
  );
});
