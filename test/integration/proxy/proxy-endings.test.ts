/** Clients that leave, limits that fire, handlers that cancel or answer: who sees what. */
import { afterEach, describe, expect, it } from "vitest";
import type { AttemptLimits, Exchange, RunningAttempt } from "../../../proxy/types.ts";
import { answering, type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { currentFrontForm, RawClient, type Rig, startRig } from "../../support/proxy-rig.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const STREAM = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n";
let rig: Rig | undefined;
let server: RawServer | undefined;

afterEach(async () => {
  await rig?.stop();
  await server?.stop();
  rig = undefined;
  server = undefined;
});

const limits = (set: Partial<AttemptLimits>): AttemptLimits => ({
  connectMs: 0,
  startMs: 0,
  idleMs: 0,
  totalMs: 0,
  ...set,
});

describe("a client that leaves", () => {
  it("while the handler holds its request: the handler is told", async () => {
    rig = await startRig({ onExchange: () => undefined });
    const made = rig;
    const client = new RawClient(rig.port).send(GET);
    await eventually(() => made.exchanges.length === 1);
    const exchange = made.exchanges[0] as Exchange;
    let told = 0;
    exchange.onClientGone(() => (told += 1));
    client.socket.destroy();
    await eventually(() => told === 1);
    expect(exchange.clientGone).toBe(true);
    let late = 0;
    exchange.onClientGone(() => (late += 1));
    expect(late).toBe(1);
    await eventually(() => made.front.open === 0);
  });

  it("while the handler holds its request, and its body was never asked for", async () => {
    rig = await startRig({ onExchange: () => undefined });
    const made = rig;
    const client = new RawClient(rig.port);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n" + "x".repeat(20_000));
    await eventually(() => made.exchanges.length === 1);
    client.socket.destroy();
    await eventually(() => made.exchanges[0]?.clientGone === true && made.front.open === 0);
  });

  it("behind an attempt that failed while its upstream did not read", async () => {
    server = await startRawServer((connection) => {
      connection.socket.pause();
    });
    const { port } = server;
    rig = await startRig({
      onExchange: (exchange, made) => {
        exchange.forward({
          ...made.attemptTo(port, exchange),
          limits: limits({ startMs: 300 }),
          onEnd: (end) => made.ends.push(end),
        });
      },
    });
    const made = rig;
    const client = new RawClient(rig.port);
    const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n";
    client.send(head + "x".repeat(8_000_000));
    await eventually(() => made.ends.length === 1);
    expect(made.ends).toMatchObject([{ kind: "limit", limit: "start" }]);
    client.socket.resetAndDestroy();
    // What the kernel holds is read off in steps; a client that is gone shows itself behind it.
    made.exchanges[0]?.answer({ status: 504, headers: [], body: "late" });
    await eventually(() => made.front.open === 0);
  });

  it.each([
    ["by FIN", (client: RawClient) => client.socket.end()],
    ["by RST", (client: RawClient) => client.socket.resetAndDestroy()],
  ])("while upstream works, %s: upstream sees its connection close", async (_name, leave) => {
    server = await startRawServer(() => undefined);
    rig = await startRig({ port: server.port });
    const made = rig;
    const client = new RawClient(rig.port).send(GET);
    await eventually(() => server?.connections[0]?.received.includes("\r\n\r\n"));
    leave(client);
    await eventually(() => server?.connections[0]?.sawEnd || server?.connections[0]?.isClosed);
    expect(made.ends).toEqual([{ kind: "client-gone", status: 0 }]);
    await eventually(() => made.front.open === 0);
    client.socket.destroy();
  });

  it("in the middle of the answer", async () => {
    server = await startRawServer(answering(STREAM));
    rig = await startRig({ port: server.port });
    const made = rig;
    const client = new RawClient(rig.port).send(GET);
    await client.has("part");
    client.socket.destroy();
    await eventually(() => server?.connections[0]?.sawEnd || server?.connections[0]?.isClosed);
    expect(made.ends).toEqual([{ kind: "client-gone", status: 200 }]);
  });

  it("in the middle of its body: upstream never sees a complete request", async () => {
    server = await startRawServer(() => undefined);
    rig = await startRig({ port: server.port });
    const made = rig;
    const client = new RawClient(rig.port);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    await eventually(() => server?.connections[0]?.received.includes("abc"));
    client.socket.destroy();
    await eventually(() => server?.connections[0]?.sawEnd || server?.connections[0]?.isClosed);
    expect(server.connections[0]?.received).not.toContain("0\r\n\r\n");
    expect(made.ends).toEqual([{ kind: "client-gone", status: 0 }]);
  });

  it.skipIf(currentFrontForm() === "raw")(
    "with pipelined requests open: all of them are told",
    async () => {
      server = await startRawServer(() => undefined);
      rig = await startRig({ port: server.port });
      const made = rig;
      const client = new RawClient(rig.port).send(GET + GET + GET);
      await eventually(() => server?.connections.length === 3);
      client.socket.destroy();
      await eventually(() => made.ends.length === 3 && made.front.open === 0);
      expect(made.ends.every((end) => end.kind === "client-gone")).toBe(true);
    },
  );
});

describe("limits of an attempt", () => {
  it("start fires before the answer, and the handler answers", async () => {
    server = await startRawServer(() => undefined);
    rig = await startRig({ port: server.port, attempt: { limits: limits({ startMs: 40 }) } });
    const client = new RawClient(rig.port).send(GET);
    await client.has("502");
    expect(rig.ends).toEqual([{ kind: "limit", limit: "start", began: false }]);
    await eventually(() => server?.connections[0]?.sawEnd || server?.connections[0]?.isClosed);
    client.socket.destroy();
  });

  it("start does not end a stream that began in time", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send(STREAM);
      const beganAt = performance.now();
      await eventually(() => performance.now() - beganAt > 150);
      connection.send("0\r\n\r\n");
    });
    rig = await startRig({ port: server.port, attempt: { limits: limits({ startMs: 60 }) } });
    const client = new RawClient(rig.port).send(GET);
    await client.has("\r\n0\r\n\r\n");
    expect(rig.ends).toEqual([{ kind: "done", status: 200 }]);
    client.socket.destroy();
  });

  it("idle cuts a silent stream, and not one that speaks", async () => {
    let spoken = 0;
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send(STREAM);
      const beganAt = performance.now();
      while (spoken < 10) {
        await eventually(() => performance.now() - beganAt > spoken * 60);
        connection.send("4\r\nmore\r\n");
        spoken += 1;
      }
    });
    rig = await startRig({ port: server.port, attempt: { limits: limits({ idleMs: 500 }) } });
    const client = new RawClient(rig.port).send(GET);
    const text = await client.ended();
    expect(text.match(/more/g)).toHaveLength(10);
    expect(text).not.toContain("\n0\r\n\r\n");
    expect(rig.ends).toEqual([{ kind: "limit", limit: "idle", began: true }]);
  });

  it("total cuts whatever runs", async () => {
    server = await startRawServer(answering(STREAM));
    rig = await startRig({ port: server.port, attempt: { limits: limits({ totalMs: 80 }) } });
    const text = await new RawClient(rig.port).send(GET).ended();
    expect(text).toContain("part");
    expect(rig.ends).toEqual([{ kind: "limit", limit: "total", began: true }]);
    await eventually(() => server?.connections[0]?.sawEnd || server?.connections[0]?.isClosed);
  });
});

describe("a handler", () => {
  it("cancels an attempt and answers itself", async () => {
    server = await startRawServer(() => undefined);
    const { port } = server;
    let running: RunningAttempt | undefined;
    rig = await startRig({
      onExchange: (exchange, made) => {
        running = exchange.forward(made.attemptTo(port, exchange));
      },
    });
    const made = rig;
    const client = new RawClient(rig.port).send(GET);
    await eventually(() => server?.connections[0]?.received.includes("\r\n\r\n"));
    running?.cancel();
    running?.cancel();
    expect(made.ends).toEqual([{ kind: "cancelled", began: false, bodyStarted: false }]);
    made.exchanges[0]?.answer({ status: 504, headers: ["X-Why", "late"], body: "late\n" });
    await client.has("X-Why: late\r\n");
    await client.has("\r\n\r\nlate\n");
    await eventually(() => server?.connections[0]?.sawEnd || server?.connections[0]?.isClosed);
    client.send(GET);
    await eventually(() => made.exchanges.length === 2);
    client.socket.destroy();
  });

  it("cancels an attempt whose answer began: the client is cut", async () => {
    server = await startRawServer(answering(STREAM));
    const { port } = server;
    let running: RunningAttempt | undefined;
    rig = await startRig({
      onExchange: (exchange, made) => {
        running = exchange.forward(made.attemptTo(port, exchange));
      },
    });
    const client = new RawClient(rig.port).send(GET);
    await client.has("part");
    running?.cancel();
    expect(await client.ended()).not.toContain("\n0\r\n\r\n");
    expect(rig.ends).toEqual([{ kind: "cancelled", began: true, bodyStarted: false }]);
  });

  it("cuts a client without an answer", async () => {
    rig = await startRig({ onExchange: (exchange) => exchange.cut() });
    const made = rig;
    expect(await new RawClient(rig.port).send(GET).ended()).toBe("");
    await eventually(() => made.front.open === 0);
  });

  it.skipIf(currentFrontForm() === "raw")(
    "cuts a pipelined request only when the ones before it are answered",
    async () => {
      server = await startRawServer(async (connection) => {
        await connection.has("\r\n\r\n");
        await eventually(() => rig?.exchanges.length === 2);
        connection.send(OK);
      });
      const { port } = server;
      rig = await startRig({
        onExchange: (exchange, made) => {
          if (made.exchanges.length === 1) exchange.forward(made.attemptTo(port, exchange));
          else exchange.cut();
        },
      });
      expect(await new RawClient(rig.port).send(GET + GET).ended()).toMatch(/\r\n\r\nok$/);
    },
  );

  it("answers HEAD without a body, and a request whose body was never read", async () => {
    rig = await startRig({
      onExchange: (exchange) =>
        exchange.answer({
          status: 404,
          headers: ["Pilotlight-Reason", "none"],
          body: "gone\u00e9\n",
        }),
    });
    const client = new RawClient(rig.port).send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.has("Content-Length: 7\r\n");
    await client.has("\r\n\r\n");
    expect(client.received).not.toContain("gone");
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    await client.has("gone\xc3\xa9\n");
    client.send(
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n${"x".repeat(900_000)}${GET}`,
    );
    const text = await client.ended();
    expect(text.match(/404 Not Found/g)).toHaveLength(3);
    expect(text).toMatch(/Connection: close\r\n(?:[^]*\r\n)?\r\ngone\xc3\xa9\n$/);
  });
});
