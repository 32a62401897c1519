/** Calls with a rank that another cell serves: their state stays where they entered. */
import type { IncomingHttpHeaders } from "node:http";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { parseOrderHeader } from "../../../common/urgency.ts";
import { call } from "../../support/activator-bench.ts";
import type { Reply } from "../../support/activator-bench.ts";
import { CellRig } from "../../support/cell-rig.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
let rig: CellRig;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(() => rig.close());

const RANKED = { queueOrder: "urgency", sloMs: 600_000 } as const;

function ask(cell: string, id: string, headers: Readonly<Record<string, string>>): Promise<Reply> {
  return call(rig.url(cell), "/x", {
    method: "POST",
    body: "{}",
    headers: { "x-request-id": id, "x-workflow-id": id, "x-workflow-stage": "draft", ...headers },
  });
}

it("carries tenant, order and deadline, and opens no workflow in the other cell", async () => {
  rig = await new CellRig(server, { names: ["eu", "us"], config: RANKED }).start();
  const pod = await rig.pod("us");
  const seen: IncomingHttpHeaders[] = [];
  pod.onRequest = (headers) => seen.push(headers);
  await rig.heard("eu", "us", ({ services }) => (services[0]?.offered ?? 0) > 0);
  const before = Date.now();
  const reply = await ask("eu", "w-1", { "x-workflow-slo-ms": "20000", "x-tenant-id": "acme" });
  expect(reply.status).toBe(200);
  const [told = {}] = seen;
  expect(told["pilotlight-tenant"]).toBe("acme");
  expect(told["pilotlight-plan"]).toBeUndefined();
  const deadlineAt = Number(told["x-workflow-deadline-ms"]);
  expect(deadlineAt - before).toBeGreaterThan(15_000);
  expect(deadlineAt - before).toBeLessThan(30_000);
  expect(parseOrderHeader(String(told["pilotlight-order"]))?.orderClass).toBe(0);
  const workflow = { namespace: "default", tenant: "acme", id: "w-1" };
  const { workflows: here } = rig.cell("eu").bench.handle;
  const { workflows: there } = rig.cell("us").bench.handle;
  await eventually(async () => (await here.readWorkflow(workflow))?.open === 0);
  expect(await there.readWorkflow(workflow)).toBeNull();
});

it("stands in the other cell's queue where its urgency says, not where it came", async () => {
  rig = await new CellRig(server, { names: ["eu", "us"], config: RANKED }).start();
  await rig.facts("us", { mayStart: 1, share: 1 });
  const { bench } = rig.cell("us");
  await rig.heard("eu", "us", ({ services }) => services.length === 1);
  const local = ask("us", "patient", { "x-workflow-slo-ms": "600000" });
  await eventually(async () => (await bench.waiting()) === 1);
  const spilled = ask("eu", "urgent", { "x-workflow-slo-ms": "30000" });
  await eventually(async () => (await bench.waiting()) === 2, { timeoutMs: 10_000 });
  const order: string[] = [];
  const pod = await bench.pod({ capacity: 1 });
  pod.onRequest = (headers) => order.push(String(headers["x-request-id"]));
  await pod.register(rig.cell("us").activators[0]?.push ?? "");
  expect([(await local).status, (await spilled).status]).toEqual([200, 200]);
  expect(order).toEqual(["urgent", "patient"]);
});
