/** Where bodies are while they wait, as asynchronous runs and on their way to webhooks. */
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { call } from "../../support/activator-bench.ts";
import { CellRig } from "../../support/cell-rig.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const SECRET_BODY = "a body that stays in eu and us";
const CONFIG = { regions: "eu,us", async: { maxDurationMs: 20_000, webhookHosts: ["127.0.0.1"] } };

let server: ValkeyServer;
let rig: CellRig;
let receiver: Server;
let received: string[];
let hook = "";

beforeAll(async () => {
  server = await startValkey();
});
afterAll(() => server.stop());
afterEach(async () => {
  await rig.close();
  await new Promise((resolve) => receiver.close(resolve));
});

/** The service may not run in ap, which has the only warm pod at first. */
async function start(): Promise<void> {
  received = [];
  receiver = createServer((incoming, answer) => {
    void buffer(incoming).then((body) => {
      received.push(body.toString());
      answer.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  rig = await new CellRig(server, { names: ["eu", "us", "ap"], config: CONFIG }).start();
  await rig.pod("ap");
}

async function warmInUs(): Promise<void> {
  await rig.pod("us");
  await rig.heard("eu", "us", ({ services }) => (services[0]?.offered ?? 0) > 0);
}

/** Everything that the store of a cell holds, as one text. */
async function stored(cell: string): Promise<string> {
  const keys = await server.admin.keys(`${rig.cell(cell).bench.prefix}*`);
  const dumps = await Promise.all(keys.map((key) => server.admin.dumpBuffer(key)));
  return dumps.map((bytes) => bytes?.toString("latin1") ?? "").join("\n");
}

const post = (cell: string, path: string): ReturnType<typeof call> =>
  call(rig.url(cell), path, {
    method: "POST",
    body: SECRET_BODY,
    headers: { "x-request-id": "run-1" },
  });

describe("an asynchronous run", () => {
  it("is not taken in where the service may not run", async () => {
    await start();
    const reply = await post("ap", "/?async=true");
    expect([reply.status, reply.headers["pilotlight-reason"]]).toEqual([503, "no_capacity"]);
    const encoded = Buffer.from(SECRET_BODY).toString("base64");
    expect(await stored("ap")).not.toContain(encoded.slice(0, 24));
    expect(rig.cell("ap").pods[0]?.hits).toBe(0);
  });

  it("waits where it was taken in, and runs in an allowed cell", async () => {
    await start();
    expect((await post("eu", "/?async=true")).status).toBe(202);
    await eventually(async () => (await rig.cell("eu").bench.waiting()) === 1);
    const encoded = Buffer.from(SECRET_BODY).toString("base64");
    expect(await stored("eu")).toContain(encoded.slice(0, 24));
    await warmInUs();
    await eventually(
      async () => {
        const state = await call(rig.url("eu"), "/.well-known/gpu-runs/run-1");
        return (JSON.parse(state.body) as { state: string }).state === "success";
      },
      { timeoutMs: 10_000, what: "the run ended well" },
    );
    expect(rig.cell("us").pods[0]?.seen[0]?.body).toBe(SECRET_BODY);
    expect(await stored("us")).not.toContain(encoded.slice(0, 24));
    expect(await stored("ap")).not.toContain(encoded.slice(0, 24));
    expect(rig.cell("ap").pods[0]?.hits).toBe(0);
  });
});

describe("a webhook", () => {
  it("gets the answer of another cell from the cell of entry, once", async () => {
    await start();
    await warmInUs();
    const reply = await post("eu", `/?webhookEndpoint=${encodeURIComponent(hook)}`);
    expect(reply.status).toBe(200);
    expect(reply.headers["server-timing"]).toContain('cell;desc="us"');
    await eventually(() => received.length === 1, { timeoutMs: 10_000 });
    expect(received).toEqual([reply.body]);
    expect(rig.cell("ap").pods[0]?.hits).toBe(0);
  });

  it("gets nothing of a call whose service may not run where it came", async () => {
    await start();
    const reply = await post("ap", `/?webhookEndpoint=${encodeURIComponent(hook)}`);
    expect(reply.headers["pilotlight-reason"]).toBe("no_capacity");
    expect(rig.cell("ap").pods[0]?.hits).toBe(0);
    expect(received.join("")).not.toContain(SECRET_BODY);
  });
});
