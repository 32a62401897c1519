/** The golden cases of dispatch, outstanding work and orders, played on the real scripts. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { QueueOrder } from "../../../common/contracts/routing.ts";
import { serviceUs } from "../../../common/hexgen/cost.ts";
import { parseQueueOrder } from "../../../common/urgency.ts";
import type { CallDetails } from "../../../store/types.ts";
import { REVISION, acquireRequest, revisionConfig } from "../../support/routing.ts";
import { StoreRig } from "../../support/store-rig.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

interface GivenTarget {
  readonly id: string;
  readonly t_us: number;
  readonly q_us?: number;
  readonly cum_us?: number;
  readonly gpu?: string;
  readonly profile?: string;
  readonly eligible?: boolean;
  readonly kv_room?: boolean;
}

interface GivenCall {
  readonly id: string;
  readonly ready_ms?: number;
  readonly budget_ms?: number;
  readonly t_ms?: number;
  readonly deadline_ms?: number;
  readonly rest_ms?: number;
  readonly workflow_arrival_ms?: number;
}

interface GoldenCase<Given, Expected> {
  readonly id: string;
  readonly kind: string;
  readonly why: string;
  readonly given: Given;
  readonly expect: Expected;
}

type Dispatch = GoldenCase<
  { readonly alpha: number; readonly targets: readonly GivenTarget[] },
  { readonly chosen: string | null }
>;
type Order = GoldenCase<
  { readonly now_ms: number; readonly order?: string; readonly queue: readonly GivenCall[] },
  Readonly<Record<string, readonly string[]>>
>;

const golden = JSON.parse(
  readFileSync(new URL("../../fixtures/hexgen-golden.json", import.meta.url), "utf8"),
) as { readonly cases: readonly { readonly kind: string }[] };

/** The cases of a kind; the file is fixed, and each reader names what it reads. */
function casesOf<Case>(...kinds: readonly string[]): readonly Case[] {
  return golden.cases.filter(({ kind }) => kinds.includes(kind)) as unknown as readonly Case[];
}

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());

const US_PER_MS = 1_000;
const cardOf = ({ id, gpu, profile }: GivenTarget): string => gpu ?? profile ?? id;

async function arrangePool({ given }: Dispatch, rule: "wb" | "repo"): Promise<StoreRig> {
  const rig = await new StoreRig(server).start({
    policy: "speed-aware",
    alpha: given.alpha,
    dispatchRule: rule,
  });
  for (const target of given.targets) {
    const state = target.eligible === false ? "unready" : "ready";
    const room = target.kv_room === false ? { kvFreeTokens: 0 } : {};
    await rig.report(target.id, { capacity: 0, state, ...room }, cardOf(target));
  }
  const uids = given.targets.map(({ id }) => id);
  for (const target of given.targets) {
    const work = target.q_us ?? target.cum_us ?? 0;
    if (work === 0 || target.eligible === false) continue;
    const exclude = uids.filter((uid) => uid !== target.id);
    const workUs = new Map([[cardOf(target), work]]);
    expect(await rig.choose({ exclude, call: { workUs } })).toBe(target.id);
  }
  return rig;
}

async function chosenOf(rig: StoreRig, { given }: Dispatch): Promise<string | null> {
  const workUs = new Map(given.targets.map((target) => [cardOf(target), target.t_us]));
  const chosen = await rig.choose({ call: { workUs, promptTokens: 10 } });
  return chosen === "wait" ? null : chosen;
}

describe("dispatch by speed", () => {
  test.each(casesOf<Dispatch>("dispatch"))("$id: $why", async (given) => {
    const rig = await arrangePool(given, "wb");
    expect(await chosenOf(rig, given)).toBe(given.expect.chosen);
    await rig.close();
  });

  test.each(casesOf<Dispatch>("dispatch_repo"))("$id: $why", async (given) => {
    const rig = await arrangePool(given, "repo");
    expect(await chosenOf(rig, given)).toBe(given.expect.chosen);
    await rig.close();
  });

  test("q-1: an idle target has exactly 0 before it", async () => {
    const [given] = casesOf<
      GoldenCase<
        {
          readonly card: { readonly prefill_tokens_per_s: number; readonly tpot_us: number };
          readonly calls: Readonly<Record<string, readonly [number, number]>>;
          readonly events: readonly string[];
        },
        { readonly q_us: readonly number[] }
      >
    >("outstanding");
    if (given === undefined) throw new Error("the case is gone");
    const { card, calls, events } = given.given;
    const profile = {
      prefillTokensPerS: card.prefill_tokens_per_s,
      tokenUs: card.tpot_us,
      batchSlope: 0,
    };
    const rig = await new StoreRig(server).start({ policy: "speed-aware" });
    await rig.report("a", { capacity: 0 }, "A100");
    const trail: (number | undefined)[] = [];
    for (const event of events) {
      const id = event.slice(1);
      const [inputTokens, outputTokens] = calls[id] ?? [0, 0];
      const workUs = new Map([
        ["A100", serviceUs(profile, { inputTokens, outputTokens, cachedTokens: 0 })],
      ]);
      if (event.startsWith("+"))
        await rig.store.acquireLease(acquireRequest(id, { call: { workUs } }));
      else await rig.release(id);
      trail.push((await rig.target("a"))?.outstandingUs);
    }
    expect(trail).toEqual(given.expect.q_us);
    await rig.close();
  });
});

/** A far instant, for calls whose case names no deadline and whose order does not look at it. */
const SOME_DEADLINE_MS = 1_000_000;

function detailsOf(call: GivenCall, startUs: number): CallDetails {
  const at = (ms = 0): number => startUs + ms * US_PER_MS;
  return {
    plan: {
      readyAt: at(call.ready_ms),
      budgetUs: (call.budget_ms ?? 0) * US_PER_MS,
      deadlineAt: at(call.deadline_ms ?? SOME_DEADLINE_MS),
      restUs: (call.rest_ms ?? 0) * US_PER_MS,
      workflowArrivedAt: at(call.workflow_arrival_ms),
    },
    workUs: new Map([["", (call.t_ms ?? 0) * US_PER_MS]]),
  };
}

/** Ids in the order in which one slot serves them, all at one instant. */
async function served(
  order: QueueOrder,
  nowMs: number,
  queue: readonly GivenCall[],
): Promise<string[]> {
  const rig = await new StoreRig(server).start();
  await rig.store.configureRevision(revisionConfig({ queueOrder: order }));
  await rig.report("a");
  await rig.store.acquireLease(acquireRequest("running"));
  const startUs = rig.nowUs;
  rig.passMs(nowMs);
  await rig.store.renewActivator(REVISION, "act-1");
  for (const call of queue) {
    const result = await rig.store.acquireLease(
      acquireRequest(call.id, { call: detailsOf(call, startUs) }),
    );
    expect(result.kind).toBe("waiting");
  }
  const started: string[] = [];
  let running = "running";
  for (const _ of queue) {
    await rig.release(running);
    const leased = await Promise.all(
      queue.map(async ({ id }) => ({ id, result: await rig.store.askTicket(REVISION, id) })),
    );
    running = leased.find(({ result }) => result.kind === "leased")?.id ?? "nobody";
    started.push(running);
  }
  await rig.close();
  return started;
}

const known = (name: string): QueueOrder => {
  const order = parseQueueOrder(name);
  if (order === undefined) throw new Error(`unknown order ${name}`);
  return order;
};

describe("order of the shared queue", () => {
  test.each(casesOf<Order>("order"))("$id: $why", async ({ given, expect: expected }) => {
    expect(await served(known(given.order ?? ""), given.now_ms, given.queue)).toEqual(
      expected["order"],
    );
  });

  test.each(casesOf<Order>("orders"))("$id: $why", async ({ given, expect: expected }) => {
    for (const [name, order] of Object.entries(expected)) {
      expect(await served(known(name), given.now_ms, given.queue), name).toEqual(order);
    }
  });

  test("order-11: the lost get every eighth slot while both wait", async () => {
    const [given] =
      casesOf<
        GoldenCase<
          { readonly class0_waiting: number; readonly class1_waiting: number },
          { readonly classes: readonly number[] }
        >
      >("share");
    if (given === undefined) throw new Error("the case is gone");
    const { class0_waiting: meetable, class1_waiting: lost } = given.given;
    const calls = [
      ...Array.from({ length: meetable }, (_, id) => ({ id: `0-${id}`, deadline_ms: 90_000 })),
      ...Array.from({ length: lost }, (_, id) => ({ id: `1-${id}`, deadline_ms: 10 })),
    ];
    const order = await served("urgency", 50, calls);
    expect(order.map((id) => Number(id[0]))).toEqual(given.expect.classes);
  });
});
