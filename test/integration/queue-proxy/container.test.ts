/** The sidecar beside a container that is a process: exits, switches protocols, closes early. */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { eventually } from "../../support/eventually.ts";
import type { SidecarProcess } from "../../support/queue-proxy-process.ts";
import { freePort, startSidecar } from "../../support/queue-proxy-process.ts";
import type { PushReceiver } from "../../support/queue-proxy-receiver.ts";
import { startPushReceiver } from "../../support/queue-proxy-receiver.ts";

const MODEL = new URL("../../fixtures/servers/model-server.ts", import.meta.url).pathname;

let port: number;
let receives: PushReceiver;
let sidecar: SidecarProcess;
const models: ChildProcess[] = [];

function startModel(): ChildProcess {
  const child = spawn(process.execPath, [MODEL], {
    stdio: "ignore",
    env: { ...process.env, PORT: String(port) },
  });
  models.push(child);
  return child;
}

const isReady = () => receives.last?.state === "ready";
const count = async () =>
  (await (await fetch(`http://127.0.0.1:${port}/count`)).json()) as Record<string, number>;

beforeEach(async () => {
  port = await freePort();
  receives = await startPushReceiver();
  startModel();
  sidecar = await startSidecar({
    userPort: port,
    activators: [receives.endpoint],
    env: { REVISION_TIMEOUT_SECONDS: "4" },
  });
  await eventually(isReady);
});

afterEach(async () => {
  for (const child of models.splice(0)) child.kill("SIGKILL");
  await sidecar.stop();
  await receives.stop();
});

describe("a container that exits", () => {
  it(
    "ends what it worked on with 502 container_exited, and is unready at once",
    { retry: 2 },
    async () => {
      const running = sidecar.request("/sleep?s=30");
      await eventually(async () => (await count())["cur"] === 1);
      models[0]?.kill("SIGKILL");
      const answer = await running;
      expect(answer.status).toBe(502);
      expect(answer.headers["pilotlight-reason"]).toBe("container_exited");
      await receives.seen((p) => p.state === "unready", { timeoutMs: 500 });
    },
  );

  it("is ready again when it came back", async () => {
    models[0]?.kill("SIGKILL");
    await eventually(async () => (await sidecar.request("/echo")).status === 503);
    await receives.seen((p) => p.state === "unready");
    startModel();
    await eventually(isReady);
    expect((await sidecar.request("/echo")).status).toBe(200);
  });
});

describe("a WebSocket", () => {
  function open(): WebSocket {
    return new WebSocket(`ws://${sidecar.ip}:8012/ws`, {
      headers: { "pilotlight-target-uid": sidecar.uid, "pilotlight-lease": "socket" },
    });
  }

  const opened = (socket: WebSocket) => new Promise((resolve) => socket.once("open", resolve));
  const closed = (socket: WebSocket) =>
    new Promise<number>((resolve) => socket.once("close", (code) => resolve(code)));

  it("holds its slot and its lease for its life", async () => {
    const socket = open();
    await opened(socket);
    const echo = new Promise((resolve) =>
      socket.once("message", (data) => resolve((data as Buffer).toString())),
    );
    socket.send("hello");
    expect(await echo).toBe("hello");
    expect((await sidecar.request("/echo")).headers["pilotlight-reason"]).toBe("pod_full");
    receives.once({ ask: ["socket"] });
    expect((await receives.seen((p) => p.asked.length > 0)).running).toEqual(["socket"]);
    socket.close();
    await eventually(async () => (await sidecar.request("/echo")).status === 200);
  });

  it("ends with going away when the pod's time is over", async () => {
    const socket = open();
    await opened(socket);
    const code = closed(socket);
    sidecar.child.kill("SIGTERM");
    expect(await code).toBe(1_001);
    receives.answer = { reply: { drainAcknowledged: true } };
    expect(await sidecar.exited()).toBe(0);
  });
});

it("repeats nothing that may have been processed", async () => {
  const { hits = 0 } = await count();
  const answer = await sidecar.request("/reset", { method: "POST", body: "x" });
  expect(answer.status).toBe(502);
  expect((await count())["hits"]).toBe(hits + 1);
});
