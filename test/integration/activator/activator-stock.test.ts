/** The statistics websocket to the stock autoscaler, against a real server that goes and comes back. */
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { ActivatorBench, call } from "../../support/activator-bench.ts";
import { eventually } from "../../support/eventually.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

/** `ns/name`, then the stat: pod `a1`, average 1, count 1. */
const FIRST = Buffer.concat([
  Buffer.from("0a2d0a0764656661756c74120a6563686f2d30303030311a", "hex"),
  Buffer.from("160a02613111000000000000f03f21000000000000f03f", "hex"),
]);

let valkey: ValkeyServer;
let bench: ActivatorBench;
let server: WebSocketServer;
let frames: Buffer[];

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure();
  frames = [];
  server = await listen(0);
});
afterEach(async () => {
  await bench.close();
  await stop();
});

async function listen(port: number): Promise<WebSocketServer> {
  const made = new WebSocketServer({ host: "127.0.0.1", port });
  made.on("connection", (socket) => {
    // Frames are binary, and `ws` hands each out as one Buffer.
    socket.on("message", (data, isBinary) => isBinary && frames.push(data as Buffer));
  });
  await new Promise((resolve) => made.once("listening", resolve));
  return made;
}

async function stop(): Promise<void> {
  for (const client of server.clients) client.terminate();
  await new Promise((resolve) => server.close(resolve));
}

function environment(): Record<string, string> {
  const { port } = server.address() as AddressInfo;
  return { PILOTLIGHT_STOCK_AUTOSCALER_URL: `ws://127.0.0.1:${port}`, POD_NAME: "a1" };
}

describe("the activator's statistics", () => {
  it("tell of a first request at once, of its end within periods, and then no more", async () => {
    const activator = await bench.activator(environment());
    await eventually(() => server.clients.size === 1);
    const pod = await bench.pod();
    await pod.register(activator.push);
    await call(activator.dataUrl, "/");
    await eventually(() => frames.length > 0);
    expect(frames[0]?.toString("hex")).toBe(FIRST.toString("hex"));
    // The first period with the request, and the zero after it.
    await eventually(() => frames.length >= 3);
    const told = frames.length;
    await call(activator.dataUrl, "/");
    await eventually(() => frames.length > told);
    expect(frames[told]?.equals(FIRST)).toBe(true);
  });

  it("come again after the autoscaler was away", async () => {
    const activator = await bench.activator(environment());
    const pod = await bench.pod();
    await pod.register(activator.push);
    await eventually(() => server.clients.size === 1);
    const { port } = server.address() as AddressInfo;
    await stop();
    await call(activator.dataUrl, "/");
    server = await listen(port);
    await eventually(() => server.clients.size === 1);
    await eventually(async () => {
      await call(activator.dataUrl, "/");
      return frames.length > 0;
    });
  });
});
