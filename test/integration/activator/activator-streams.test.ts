/** Exchanges that are not one request and one answer: sockets, event streams, large bodies. */
import { createHash } from "node:crypto";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ActivatorBench, HOST, call } from "../../support/activator-bench.ts";
import type { BenchActivator } from "../../support/activator-bench.ts";
import type { StubPod } from "../../support/activator-stub-pod.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

let valkey: ValkeyServer;
let bench: ActivatorBench;
let activator: BenchActivator;
let pod: StubPod;

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure({ responseStartTimeoutMs: 400 });
  activator = await bench.activator();
  pod = await bench.pod();
  await pod.register(activator.push);
});
afterEach(() => bench.close());

function openSocket(): WebSocket {
  return new WebSocket(activator.dataUrl.replace("http", "ws"), { headers: { host: HOST } });
}

function closeOf(socket: WebSocket): Promise<number> {
  return new Promise((resolve) => socket.once("close", resolve));
}

async function echoed(socket: WebSocket, text: string): Promise<string> {
  const answer = new Promise<string>((resolve) => {
    socket.once("message", (data) => resolve((data as Buffer).toString()));
  });
  socket.send(text);
  return answer;
}

describe("a WebSocket", () => {
  it("holds one slot for its life", async () => {
    const socket = openSocket();
    await new Promise((resolve) => socket.once("open", resolve));
    expect(await echoed(socket, "hello")).toBe("hello");
    expect(await bench.busy()).toBe(1);
    // The limit for the first byte ended with the 101.
    const afterLimit = performance.now() + 600;
    await eventually(() => performance.now() > afterLimit);
    expect(await echoed(socket, "still there")).toBe("still there");
    socket.close();
    await eventually(async () => (await bench.busy()) === 0);
  });

  it("waits for a slot before it is opened", async () => {
    const running = call(activator.dataUrl, "/?ms=200");
    await eventually(async () => (await bench.busy()) === 1);
    const socket = openSocket();
    await eventually(async () => (await bench.waiting()) === 1);
    await running;
    await new Promise((resolve) => socket.once("open", resolve));
    socket.close();
    await closeOf(socket);
  });

  it("is told that this activator goes away", async () => {
    const socket = openSocket();
    await new Promise((resolve) => socket.once("open", resolve));
    const closed = closeOf(socket);
    await activator.drain();
    expect(await closed).toBe(1001);
    expect(await bench.busy()).toBe(0);
  });
});

describe("a stream", () => {
  it("of events passes whole and unchanged", async () => {
    const reply = await call(activator.dataUrl, "/sse?n=20");
    expect(reply.headers["content-type"]).toBe("text/event-stream");
    expect(reply.body).toBe(Array.from({ length: 20 }, (_, n) => `data: ${n + 1}\n\n`).join(""));
    await eventually(async () => (await bench.busy()) === 0);
  });

  it("of a large body arrives as it was sent", async () => {
    await bench.configure();
    const other = await bench.activator();
    const body = Buffer.alloc(8_000_000);
    for (let index = 0; index < body.length; index += 1) body[index] = index % 251;
    const reply = await call(other.dataUrl, "/", { method: "POST", body });
    const sha256 = createHash("sha256").update(body).digest("hex");
    expect(JSON.parse(reply.body)).toMatchObject({ length: body.length, sha256 });
  });
});

describe("a caller who asks before it sends", () => {
  it("gets its 100 only when a pod was picked", async () => {
    await pod.push(activator.push, "change", "unready");
    const socket = connect(Number(new URL(activator.dataUrl).port), "127.0.0.1");
    let heard = "";
    socket.on("data", (bytes) => (heard += bytes.toString()));
    const head = [
      "PUT / HTTP/1.1",
      `Host: ${HOST}`,
      "Content-Length: 5",
      "Expect: 100-continue",
      "Connection: close",
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
    await eventually(async () => (await bench.waiting()) === 1);
    expect(heard).toBe("");
    await pod.push(activator.push, "change", "ready");
    await eventually(() => heard.startsWith("HTTP/1.1 100 Continue\r\n\r\n"));
    socket.write("hello");
    await eventually(() => heard.includes('"length":5'));
    socket.destroy();
  });
});

describe("the end of an activator", () => {
  it("serves what waits and what runs, and takes nothing new", async () => {
    const running = call(activator.dataUrl, "/?ms=150");
    await eventually(async () => (await bench.busy()) === 1);
    const waiting = call(activator.dataUrl, "/?ms=50");
    await eventually(async () => (await bench.waiting()) === 1);
    const drained = activator.drain();
    await expect(call(activator.dataUrl, "/")).rejects.toThrow(/ECONNREFUSED/);
    expect((await running).status).toBe(200);
    expect((await waiting).status).toBe(200);
    await drained;
    expect((await bench.busy()) + (await bench.waiting())).toBe(0);
  });
});
