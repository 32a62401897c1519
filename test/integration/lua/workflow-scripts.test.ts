/**
 * Workflows on the real scripts: the same answers, to the last bit, as the rule in common/hexgen; each
 * call counted once, whatever is repeated; nothing kept for ever.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../../../common/random.ts";
import { createWorkflow, closeCall, openCall } from "../../../common/hexgen/workflow.ts";
import type { WorkflowState } from "../../../common/hexgen/workflow.ts";
import { createKeys } from "../../../store/keys.ts";
import { createStore } from "../../../store/store.ts";
import type { StoreHandle } from "../../../store/store.ts";
import type { ExpectedStage, OpenCallRequest, WorkflowKey } from "../../../store/types.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const START_US = 1_700_000_000_000_000;
const STAGES = ["retrieve", "keywords", "candidate", "revise", "tester", "odd"] as const;
const WORKFLOW: WorkflowKey = { namespace: "default", tenant: "acme", id: "q-8f2c" };

let server: ValkeyServer;
let prefix: string;
let nowUs = START_US;
let handle: StoreHandle;
beforeAll(async () => {
  server = await startValkey();
  prefix = server.freshPrefix();
  handle = createStore({ url: server.url, prefix, testTime: () => nowUs });
  await handle.ready();
});
afterAll(async () => {
  await handle.close();
  await server.stop();
});

const entry = (stage: string, workUs: number, changes: Partial<ExpectedStage> = {}) => ({
  stage,
  optional: false,
  probability: 1,
  workUs,
  ...changes,
});

function openRequest(changes: Partial<OpenCallRequest> = {}): OpenCallRequest {
  return {
    workflow: WORKFLOW,
    callId: "c0",
    stage: "retrieve",
    stageIndex: 0,
    stageUs: 1_000_000,
    sloUs: 10_000_000,
    deadlineAt: 0,
    leastSloUs: 0,
    mayExtend: false,
    template: [entry("retrieve", 1_000_000), entry("tester", 3_000_000)],
    ...changes,
  };
}

let names = 0;
const fresh = (): WorkflowKey => ({ ...WORKFLOW, id: `w${(names += 1)}` });
const close = (workflow: WorkflowKey, callId: string, isFinal = false) =>
  handle.workflows.closeCall({
    workflow,
    callId,
    targetUid: "pod-1",
    isFinal,
    fingerprints: ["f1", "f2"],
  });

describe("workflow scripts", () => {
  test("split the objective, and carry debt and credit to later stages", async () => {
    const workflow = fresh();
    const first = await handle.workflows.openCall(openRequest({ workflow }));
    expect(first.plan).toEqual({
      readyAt: nowUs,
      budgetUs: 2_500_000,
      deadlineAt: nowUs + 10_000_000,
      restUs: 4_000_000,
      workflowArrivedAt: nowUs,
    });
    nowUs += 6_000_000;
    await close(workflow, "c0");
    const late = await handle.workflows.openCall(
      openRequest({ workflow, callId: "c1", stage: "tester", stageIndex: 1, stageUs: 3_000_000 }),
    );
    // Four of ten seconds are left, and one stage.
    expect(late.plan.budgetUs).toBe(4_000_000);
    expect(late.lastTarget).toBe("pod-1");
    expect(late.lastFingerprints).toEqual(["f1", "f2"]);
    nowUs += 30_000_000;
    const lost = await handle.workflows.openCall(
      openRequest({ workflow, callId: "c2", stage: "tester", stageIndex: 2, stageUs: 3_000_000 }),
    );
    // Debt counts up to one objective.
    expect(lost.plan.budgetUs).toBe(-10_000_000);
    const view = await handle.workflows.readWorkflow(workflow);
    expect(view?.stages.map(({ stage, index, budgetUs }) => [stage, index, budgetUs])).toEqual([
      ["retrieve", 0, 2_500_000],
      ["tester", 1, 4_000_000],
      ["tester", 2, -10_000_000],
    ]);
  });

  test("give siblings the same plan, and a repeated call what it was told before", async () => {
    const workflow = fresh();
    const first = await handle.workflows.openCall(openRequest({ workflow }));
    nowUs += 1_000_000;
    const sibling = await handle.workflows.openCall(openRequest({ workflow, callId: "c1" }));
    const again = await handle.workflows.openCall(openRequest({ workflow }));
    expect([sibling.plan, again.plan]).toEqual([first.plan, first.plan]);
    expect([first.open, sibling.open, again.open]).toEqual([1, 2, 2]);
    await close(workflow, "c0");
    await close(workflow, "c0");
    await close(workflow, "never opened");
    expect((await handle.workflows.readWorkflow(workflow))?.open).toBe(1);
    const reopened = await handle.workflows.openCall(openRequest({ workflow }));
    expect([reopened.plan, reopened.open]).toEqual([first.plan, 1]);
  });

  test("take the earlier of duration and instant, hold the floor, and extend only if allowed", async () => {
    const at = async (changes: Partial<OpenCallRequest>, workflow = fresh()): Promise<number> =>
      (await handle.workflows.openCall(openRequest({ workflow, ...changes }))).plan.deadlineAt;
    expect(await at({ deadlineAt: nowUs + 4_000_000 })).toBe(nowUs + 4_000_000);
    expect(await at({ deadlineAt: nowUs + 40_000_000 })).toBe(nowUs + 10_000_000);
    expect(await at({ sloUs: 1, leastSloUs: 4_800_000 })).toBe(nowUs + 4_800_000);
    expect(await at({ sloUs: 0 })).toBe(0);
    const workflow = fresh();
    await at({}, workflow);
    const later = { callId: "c1", sloUs: 60_000_000 };
    expect(await at(later, workflow)).toBe(nowUs + 10_000_000);
    expect(await at({ ...later, callId: "c2", mayExtend: true }, workflow)).toBe(
      nowUs + 60_000_000,
    );
  });

  test("go a minute after the final call, and begin anew under the same name", async () => {
    const workflow = fresh();
    const key = createKeys(prefix).one(`wf:default/acme/${workflow.id}`, "workflow");
    await handle.workflows.openCall(openRequest({ workflow }));
    expect(await server.admin.pttl(key)).toBeGreaterThan(3_600_000);
    expect(await server.admin.pttl(key)).toBeLessThanOrEqual(3_620_000);
    await handle.workflows.openCall(openRequest({ workflow, callId: "c1" }));
    await close(workflow, "c1", true);
    expect((await handle.workflows.readWorkflow(workflow))?.isEnded).toBe(false);
    await close(workflow, "c0");
    expect((await handle.workflows.readWorkflow(workflow))?.isEnded).toBe(true);
    expect(await server.admin.pttl(key)).toBeLessThanOrEqual(60_000);
    nowUs += 5_000_000;
    const anew = await handle.workflows.openCall(openRequest({ workflow, callId: "c9" }));
    expect([anew.plan.workflowArrivedAt, anew.open]).toEqual([nowUs, 1]);
    expect(await server.admin.pttl(key)).toBeGreaterThan(3_600_000);
  });

  test("count the parallel calls of a stage that are sent one after the other", async () => {
    const workflow = fresh();
    const part = (callId: string, changes: Partial<OpenCallRequest> = {}) =>
      handle.workflows.openCall(openRequest({ workflow, callId, fanout: 3, ...changes }));
    const plans = [];
    for (const callId of ["c0", "c1", "c2"]) {
      plans.push((await part(callId)).plan);
      await close(workflow, callId, true);
      nowUs += 1_000_000;
      const { isEnded } = (await handle.workflows.readWorkflow(workflow)) ?? {};
      expect(isEnded).toBe(callId === "c2");
    }
    expect(plans).toEqual([plans[0], plans[0], plans[0]]);
    // Of the stage before, nothing is counted for the next one.
    const longer = fresh();
    await handle.workflows.openCall(openRequest({ workflow: longer, callId: "c0", fanout: 2 }));
    await close(longer, "c0");
    const last = { workflow: longer, callId: "c1", stage: "tester", stageIndex: 1 };
    await handle.workflows.openCall(openRequest(last));
    await close(longer, "c1", true);
    expect((await handle.workflows.readWorkflow(longer))?.isEnded).toBe(true);
  });

  test("keep tenants apart whose names only look alike when joined", async () => {
    const one = { namespace: "default", tenant: "a", id: "b/c" };
    const other = { namespace: "default", tenant: "a/b", id: "c" };
    await handle.workflows.openCall(openRequest({ workflow: one }));
    const { open } = await handle.workflows.openCall(openRequest({ workflow: other }));
    expect(open).toBe(1);
  });

  test("remember a bounded number of calls", { timeout: 60_000 }, async () => {
    const workflow = fresh();
    for (let from = 0; from < 4_200; from += 300) {
      await Promise.all(
        Array.from({ length: 300 }, (_, call) =>
          handle.workflows.openCall(openRequest({ workflow, callId: `c${from + call}` })),
        ),
      );
    }
    const key = createKeys(prefix).one(`wf:default/acme/${workflow.id}`, "workflow");
    expect(await server.admin.hlen(key)).toBeLessThan(4_096 + 20);
    expect((await handle.workflows.readWorkflow(workflow))?.open).toBe(4_096);
  });

  test.each([1, 2, 3, 4, 5])(
    "agree with the rule on random workflow %i, bit for bit",
    async (seed) => {
      const random = createRandom(seed);
      const pick = <T>(values: readonly T[]): T =>
        values[Math.floor(random() * values.length)] as T;
      const times = new Map(
        STAGES.map((stage) => [stage as string, Math.floor(1e6 * random()) + 1]),
      );
      const timeOf = (stage: string): number => times.get(stage) ?? 0;
      const expected = (count: number): ExpectedStage[] =>
        Array.from({ length: count }, () => pick(STAGES)).map((stage) =>
          entry(stage, timeOf(stage), { optional: random() < 0.4, probability: pick([1, 0.27]) }),
        );
      const workflow = fresh();
      const template = expected(9);
      const sloUs = pick([700_000, 4_000_000, 30_000_000]);
      let model: WorkflowState = createWorkflow(nowUs, sloUs, template);
      let stageIndex = 0;
      for (let step = 0; step < 60; step += 1) {
        nowUs += Math.floor(random() * 400_000);
        const callId = `c${Math.floor(random() * 40)}`;
        if (random() < 0.4) {
          model = closeCall(model, callId);
          await close(workflow, callId);
          continue;
        }
        if (random() < 0.4) stageIndex += 1;
        const stage = pick(STAGES);
        const remaining = random() < 0.15 ? expected(3) : undefined;
        const known = model.calls.get(callId);
        // It arrives with its first call.
        if (model.stageIndex < 0) model = createWorkflow(nowUs, sloUs, template);
        const opened = openCall(model, {
          callId,
          stage,
          stageIndex,
          now: nowUs,
          timeOf,
          ...(remaining === undefined ? {} : { hint: remaining }),
        });
        model = opened.workflow;
        const answer = await handle.workflows.openCall(
          openRequest({
            workflow,
            callId,
            stage,
            stageIndex,
            stageUs: timeOf(stage),
            sloUs,
            template,
            ...(remaining === undefined ? {} : { remaining }),
          }),
        );
        expect(answer.open).toBe(model.open);
        // A closed call is told again what it was told; the rule of the simulator forgets that.
        if (known === null) continue;
        const { readyAt, budgetUs, restUs, deadlineAt } = answer.plan;
        const { plan } = opened;
        expect([readyAt, budgetUs, restUs]).toEqual([plan.readyAt, plan.budget, plan.rest]);
        expect(deadlineAt).toBe(model.deadlineAt);
      }
    },
  );
});
