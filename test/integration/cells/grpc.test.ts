/** gRPC over the way between two cells, to a slot that is free and to one that has yet to start. */
import { status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { GrpcCaller } from "../../protocols/clients.ts";
import { H2cContainer } from "../../protocols/containers/h2c.ts";
import { HOST } from "../../support/activator-bench.ts";
import { CellRig } from "../../support/cell-rig.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let server: ValkeyServer;
let rig: CellRig;
let container: H2cContainer;
let caller: GrpcCaller;

beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(async () => {
  caller.close();
  await rig.close();
  await container.stop();
});

const CAPACITY = 10;

/** Only the second cell may serve. */
async function start(): Promise<void> {
  const config = { protocol: "h2c", containerConcurrency: CAPACITY } as const;
  rig = await new CellRig(server, { names: ["eu", "us"], config }).start();
  await rig.facts("us", { mayStart: 1, share: 1 });
  await rig.heard("eu", "us", ({ services }) => services.length === 1);
  const { hostname, port } = new URL(rig.url("eu"));
  caller = new GrpcCaller({ host: hostname, port: Number(port), authority: HOST });
}

async function startPod(): Promise<void> {
  const { bench, activators } = rig.cell("us");
  const pod = await bench.pod({ capacity: CAPACITY });
  container = await H2cContainer.start(pod.address);
  pod.serveAt(container.port);
  await pod.register(activators[0]?.push ?? "");
}

async function startWarm(): Promise<void> {
  await start();
  await startPod();
  await rig.heard("eu", "us", ({ services }) => (services[0]?.offered ?? 0) > 0);
}

describe("a gRPC call that another cell serves", () => {
  it("keeps messages, statuses and trailers of every kind of call", async () => {
    await startWarm();
    expect(await caller.unary("Echo", "hello")).toBe("hello");
    expect(await caller.clientStream("Echo", ["a", "b", "c"])).toBe("abc");
    expect(await caller.bidi("Bidi", ["1", "2", "3", "4"])).toEqual(["1", "2", "3", "4"]);
    const streamed = await caller.serverStream("Stream", "x");
    expect(streamed.messages).toEqual(["x", "x", "x"]);
    expect([streamed.status.code, streamed.status.details]).toEqual([status.OK, "the end"]);
    const broken = await caller.serverStream("BreakAfterThree", "x");
    expect([broken.messages.length, broken.status.code]).toEqual([3, status.INTERNAL]);
    expect((await caller.failure("Fail")).code).toBe(status.INVALID_ARGUMENT);
    await eventually(async () => {
      const { spills } = await rig.view("eu");
      const served = spills.filter(({ outcome }) => outcome === "served");
      return served.reduce((sum, { count }) => sum + count, 0) === 6;
    });
    await eventually(async () => (await rig.cell("us").bench.busy()) === 0);
  });

  it("ends in the other cell too when its deadline is over", async () => {
    await startWarm();
    const failed = await caller.failure("Silent", { deadline: Date.now() + 1_500 });
    expect(failed.code).toBe(status.DEADLINE_EXCEEDED);
    await eventually(() => container.runningOf("/pb.Echo/Silent") === 0, { timeoutMs: 10_000 });
    await eventually(async () => (await rig.cell("us").bench.busy()) === 0, { timeoutMs: 10_000 });
  });

  it("waits for the first pod there, and runs once", async () => {
    await start();
    const called = caller.unary("Echo", "patience");
    await eventually(async () => (await rig.cell("us").bench.waiting()) === 1, {
      timeoutMs: 10_000,
    });
    await startPod();
    expect(await called).toBe("patience");
    expect(container.hits.get("/pb.Echo/Echo")).toBe(1);
  });
});
