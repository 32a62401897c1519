/** Switched connections: WebSocket and others, both ways, half-closed, refused, cut with a reason. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { Exchange } from "../../../proxy/types.ts";
import {
  type RawConnection,
  type RawServer,
  startRawServer,
} from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { RawClient, type Rig, startRig } from "../../support/proxy-rig.ts";

const WISH =
  "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: x\r\n\r\n";
const SWITCH =
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: y\r\n\r\n";
let rig: Rig | undefined;
let server: RawServer | undefined;
let sockets: WebSocketServer | undefined;

afterEach(async () => {
  await rig?.stop();
  await server?.stop();
  for (const client of sockets?.clients ?? []) client.terminate();
  sockets?.close();
  rig = undefined;
  server = undefined;
  sockets = undefined;
});

async function switching(serve: (connection: RawConnection) => void | Promise<void>): Promise<Rig> {
  server = await startRawServer(async (connection) => {
    await connection.has("\r\n\r\n");
    await serve(connection);
  });
  rig = await startRig({ port: server.port });
  return rig;
}

async function startEcho(limits?: {
  idleMs?: number;
  totalMs?: number;
  startMs?: number;
}): Promise<Rig> {
  sockets = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  sockets.on("connection", (socket) => {
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  await once(sockets, "listening");
  rig = await startRig({
    port: (sockets.address() as AddressInfo).port,
    attempt: { limits: { connectMs: 0, startMs: 0, idleMs: 0, totalMs: 0, ...limits } },
  });
  return rig;
}

async function openSocket(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  await once(socket, "open");
  return socket;
}

describe("a switched connection", () => {
  it("passes the wish and the switch on, and bytes that came too early", async () => {
    const made = await switching(async (connection) => {
      connection.send(`${SWITCH}first`);
      await connection.has("early");
      connection.send("late");
    });
    const client = new RawClient(made.port).send(`${WISH}early`);
    await client.has("late");
    expect(client.received).toBe(`${SWITCH}firstlate`);
    expect(server?.connections[0]?.received).toBe(
      "GET /ws HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: x\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\nearly",
    );
    expect(made.exchanges[0]?.head.upgrade).toBe("websocket");
    client.socket.destroy();
    await eventually(() => made.ends.length === 1);
    expect(made.ends).toEqual([{ kind: "client-gone", status: 101 }]);
    await eventually(() => made.front.open === 0);
  });

  it("lets each side close its half, and ends when both have", async () => {
    const other = (text: string): string => text.replace(/websocket/i, "other");
    const made = await switching(async (connection) => {
      connection.send(other(SWITCH));
      await eventually(() => connection.sawEnd);
      connection.send("still here");
      connection.socket.end();
    });
    const client = new RawClient(made.port).send(other(WISH));
    await client.has("101");
    client.socket.end();
    await client.has("still here");
    await eventually(() => made.ends.length === 1);
    expect(made.ends).toEqual([{ kind: "done", status: 101 }]);
    await eventually(() => made.front.open === 0);
  });

  it("is refused like any request when upstream does not switch", async () => {
    const made = await switching((connection) =>
      connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"),
    );
    const text = await new RawClient(made.port).send(WISH).ended();
    expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[^]*Connection: close\r\n\r\nno$/);
    expect(made.ends).toEqual([{ kind: "done", status: 403 }]);
    await eventually(() => made.front.open === 0);
  });

  it("tells the handler when the client leaves before the switch", async () => {
    rig = await startRig({ onExchange: () => undefined });
    const made = rig;
    const client = new RawClient(rig.port).send(WISH);
    await eventually(() => made.exchanges.length === 1);
    let isTold = false;
    made.exchanges[0]?.onClientGone(() => (isTold = true));
    client.socket.end();
    await eventually(() => isTold && made.front.open === 0);
  });

  it("carries megabytes of frames both ways", async () => {
    const made = await startEcho();
    const socket = await openSocket(made.port);
    const big = Buffer.alloc(3_000_000, "z");
    socket.send(big);
    const [echo] = (await once(socket, "message")) as [Buffer];
    expect(echo.equals(big)).toBe(true);
    socket.close(1000, "bye");
    await eventually(() => made.ends.length === 1);
    expect(made.ends).toEqual([{ kind: "done", status: 101 }]);
    expect(made.front.open).toBe(0);
  });

  it("outlives the start limit", async () => {
    const made = await startEcho({ startMs: 60 });
    const socket = await openSocket(made.port);
    const openedAt = performance.now();
    await eventually(() => performance.now() - openedAt > 150);
    socket.send("alive");
    const [echo] = (await once(socket, "message")) as [Buffer];
    expect(echo.toString()).toBe("alive");
    socket.terminate();
  });

  it.each([
    ["1008 at its idle limit", { idleMs: 60 }, 1008],
    ["1008 at its total limit", { totalMs: 60 }, 1008],
  ])("is closed with %s", async (_name, limits, expected) => {
    const made = await startEcho(limits);
    const socket = await openSocket(made.port);
    const [code] = (await once(socket, "close")) as [number];
    expect(code).toBe(expected);
    expect(made.ends[0]?.kind).toBe("limit");
    await eventually(() => sockets?.clients.size === 0);
  });

  it("is closed with the code that the handler gives", async () => {
    const made = await startEcho();
    const socket = await openSocket(made.port);
    (made.exchanges[0] as Exchange).cut(1001);
    const [code] = (await once(socket, "close")) as [number];
    expect(code).toBe(1001);
    expect(made.ends).toEqual([{ kind: "cancelled", began: true }]);
    await eventually(() => made.front.open === 0);
  });

  it.each([
    ["resets", (connection: RawConnection) => connection.reset()],
    ["closes without a close frame", (connection: RawConnection) => connection.socket.end()],
  ])("is closed with 1011 when upstream %s", async (_name, leave) => {
    const made = await switching(async (connection) => {
      connection.send(`${SWITCH}\x81\x02hi`);
      await eventually(() => client.received.includes("hi"));
      leave(connection);
    });
    const client: RawClient = new RawClient(made.port).send(WISH);
    const text = await client.ended();
    expect(text.slice(SWITCH.length)).toBe("\x81\x02hi\x88\x02\x03\xf3");
    expect(made.ends).toMatchObject([{ kind: "cut", status: 101 }]);
  });

  it("gets no close frame into the middle of a frame", async () => {
    const made = await switching(async (connection) => {
      connection.send(`${SWITCH}\x82\x7e\x01\x00half`);
      await eventually(() => client.received.includes("half"));
      connection.reset();
    });
    const client: RawClient = new RawClient(made.port).send(WISH);
    const text = await client.ended();
    expect(text).toMatch(/half$/);
  });
});
