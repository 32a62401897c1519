/** Expect: 100-continue, bodies held back, answers before the body, and attempts that repeat it. */
import { afterEach, describe, expect, it } from "vitest";
import type { Exchange } from "../../../proxy/types.ts";
import { type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { RawClient, type Rig, startRig } from "../../support/proxy-rig.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const FULL = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nfull";
let rig: Rig | undefined;
let server: RawServer | undefined;

afterEach(async () => {
  await rig?.stop();
  await server?.stop();
  rig = undefined;
  server = undefined;
});

const head = (length: number, ...lines: string[]): string =>
  `PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;

describe("a client that expects 100", () => {
  it("gets it when the upstream gives it, end to end", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      await eventually(() => rig?.exchanges.length === 1);
      expect(client.received).toBe("");
      connection.send(CONTINUE);
      await connection.has("hello");
      connection.send(OK);
    });
    rig = await startRig({ port: server.port });
    const client: RawClient = new RawClient(rig.port).send(head(5, "Expect: 100-continue"));
    await client.has(CONTINUE);
    client.send("hello");
    await client.has("ok");
    expect(client.received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(server.connections[0]?.received.match(/Expect/g)).toHaveLength(1);
    client.socket.destroy();
  });

  it("gets no 100 while the handler holds the request, so that its body stays with it", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("hello");
      connection.send(OK);
    });
    const { port } = server;
    rig = await startRig({ onExchange: () => undefined });
    const made = rig;
    const client = new RawClient(rig.port).send(head(5, "Expect: 100-continue"));
    await eventually(() => made.exchanges.length === 1);
    expect(client.received).toBe("");
    const exchange = made.exchanges[0] as Exchange;
    expect(exchange.head.expectsContinue).toBe(true);
    // A handler that answers the expectation itself leaves the header out.
    exchange.forward(made.attemptTo(port, exchange, { headers: ["Host", "a"] }));
    await client.has(CONTINUE);
    client.send("hello");
    await client.has("ok");
    expect(made.ends).toEqual([{ kind: "done", status: 200 }]);
    client.socket.destroy();
  });

  it("gets the refusal without sending a byte", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
    });
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port).send(head(5_000_000, "Expect: 100-continue"));
    const text = await client.ended();
    expect(text).toMatch(
      /^HTTP\/1\.1 413 Too Large\r\n[^]*Connection: close\r\n(?:[^]*\r\n)?\r\nbig$/,
    );
    expect(server.connections[0]?.received).toMatch(/\r\n\r\n$/);
    await eventually(() => server?.connections[0]?.isClosed || server?.connections[0]?.sawEnd);
    expect(rig.upstream.idle).toBe(0);
  });

  it("is told to go on after a second when the upstream says nothing", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("hello");
      connection.send(OK);
    });
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port).send(head(5, "Expect: 100-continue"));
    await client.has(CONTINUE);
    client.send("hello");
    await client.has("ok");
    client.socket.destroy();
  });

  it("may ignore the wait and send at once", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send(CONTINUE);
      await connection.has("hello");
      connection.send(OK);
    });
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port).send(`${head(5, "Expect: 100-Continue")}hello`);
    await client.has("ok");
    expect(client.received.match(/200 OK/g)).toHaveLength(1);
    client.socket.destroy();
  });
});

describe("an attempt that awaits 100", () => {
  it("asks for it, holds the body until it comes, and keeps it from a client that did not ask", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("Expect: 100-continue\r\n");
      await connection.has("\r\n\r\n");
      expect(connection.received).not.toContain("hello");
      connection.send(CONTINUE);
      await connection.has("hello");
      connection.send(OK);
    });
    rig = await startRig({ port: server.port, attempt: { awaitContinue: true } });
    const client = new RawClient(rig.port).send(`${head(5)}hello`);
    await client.has("ok");
    expect(client.received).toMatch(/^HTTP\/1\.1 200 OK/);
    client.socket.destroy();
  });

  it("leaves a body of any size repeatable when the upstream says no", async () => {
    const length = 3_000_000;
    server = await startRawServer(async (connection, index) => {
      await connection.has("\r\n\r\n");
      if (index === 0) return connection.send(FULL);
      connection.send(CONTINUE);
      await eventually(() => connection.receivedBytes > length);
      connection.send(OK);
      return undefined;
    });
    const { port } = server;
    rig = await startRig({
      onExchange: (exchange, made) => {
        const attempt = made.attemptTo(port, exchange, { awaitContinue: true });
        exchange.forward({
          ...attempt,
          onResponse: (answer) =>
            answer.status === 503 ? "intercept" : attempt.onResponse(answer),
          onEnd: (end) => {
            made.ends.push(end);
            if (end.kind !== "intercepted") return;
            expect(exchange.replayable).toBe(true);
            expect(exchange.pristine).toBe(true);
            exchange.forward(attempt);
          },
        });
      },
    });
    const client = new RawClient(rig.port).send(head(length) + "x".repeat(length));
    await client.has("ok");
    expect(rig.ends).toMatchObject([{ kind: "intercepted", status: 503 }, { kind: "done" }]);
    expect(server.connections[0]?.received).toMatch(/\r\n\r\n$/);
    client.socket.destroy();
  });
});

describe("a body that was sent and has to be sent again", () => {
  it.each([
    ["by length", `${head(5)}hello`, "\r\n\r\nhello"],
    [
      "chunked, with trailers",
      "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
      "5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
    ],
  ])("is repeated from what is held: %s", async (_name, request, mark) => {
    server = await startRawServer(async (connection, index) => {
      await connection.has(mark);
      if (index === 0) connection.reset();
      else connection.send(OK);
    });
    const { port } = server;
    rig = await startRig({
      onExchange: (exchange, made) => {
        const attempt = made.attemptTo(port, exchange);
        exchange.forward({
          ...attempt,
          onEnd: (end) => {
            made.ends.push(end);
            if (end.kind === "reset") exchange.forward(attempt);
          },
        });
      },
    });
    const client = new RawClient(rig.port).send(request);
    await client.has("ok");
    expect(rig.ends).toMatchObject([{ kind: "reset", bodySent: true }, { kind: "done" }]);
    client.socket.destroy();
  });

  it("is not repeatable beyond the limit, and says so", async () => {
    server = await startRawServer(async (connection) => {
      await eventually(() => connection.receivedBytes > 100_000);
      connection.reset();
    });
    rig = await startRig({ port: server.port });
    const made = rig;
    const client = new RawClient(rig.port).send(head(200_000) + "x".repeat(200_000));
    await eventually(() => made.ends.length === 1);
    expect(made.ends).toMatchObject([{ kind: "reset", bodySent: true }]);
    const exchange = made.exchanges[0] as Exchange;
    expect(exchange.replayable).toBe(false);
    await client.has("502");
    expect(() => exchange.forward(made.attemptTo(1, exchange))).toThrow(/after/);
    client.socket.destroy();
  });
});

describe("an answer before the body is complete", () => {
  const refusing = async (answer: string): Promise<RawServer> =>
    startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send(answer);
    });

  it("reaches a client that still sends, and the upstream connection is not used again", async () => {
    server = await refusing(OK);
    rig = await startRig({ port: server.port });
    const made = rig;
    const client = new RawClient(rig.port).send(head(5_000_000) + "x".repeat(1_000_000));
    await client.has("\r\n\r\nok");
    expect(client.received).toContain("Connection: close");
    await eventually(() => made.ends.length === 1);
    expect(made.ends).toEqual([{ kind: "done", status: 200 }]);
    expect(made.upstream.idle).toBe(0);
    // The client goes on; it is read off and not reset, and then the connection ends.
    client.send("x".repeat(1_000_000));
    await eventually(() => client.sawEnd);
    expect(client.wasReset).toBe(false);
    client.socket.end();
    await eventually(() => made.front.open === 0);
  });

  it("reaches the client when the upstream answers and closes with the body unread", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.socket.pause();
      connection.socket.end(OK, "latin1", () => connection.socket.destroy());
    });
    rig = await startRig({ port: server.port });
    const made = rig;
    for (let i = 0; i < 20; i += 1) {
      const client = new RawClient(rig.port).send(head(5_000_000) + "x".repeat(2_000_000));
      await client.has("\r\n\r\nok");
      client.socket.destroy();
    }
    await eventually(() => made.ends.length === 20 && made.front.open === 0);
    expect(made.ends.every((end) => end.kind === "done" || end.kind === "client-gone")).toBe(true);
  });

  it("flows both ways at once when the upstream echoes while it reads", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      await connection.has("ping");
      connection.send("4\r\npong\r\n");
      await connection.has("0\r\n\r\n");
      connection.send("0\r\n\r\n");
    });
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    await client.has("200 OK");
    client.send("4\r\nping\r\n");
    await client.has("pong");
    client.send("0\r\n\r\n");
    expect(await client.ended()).toMatch(/4\r\npong\r\n0\r\n\r\n$/);
    expect(rig.ends).toEqual([{ kind: "done", status: 200 }]);
  });

  it("keeps the client's connection when only a small rest is missing", async () => {
    server = await refusing(OK);
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port).send(`${head(10)}hello`);
    await client.has("\r\n\r\nok");
    client.send("worldGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    await eventually(() => client.received.split("\r\n\r\nok").length === 3);
    expect(server.connections).toHaveLength(2);
    client.socket.destroy();
  });
});

describe("two hops, the first of which awaits 100", () => {
  it.each([
    ["a client that expects it", "Expect: 100-continue"],
    ["a client that does not", "X-Plain: 1"],
  ])("pass a body of 5 MB from %s, once and whole", async (_name, line) => {
    const length = 5_000_000;
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send(CONTINUE);
      await eventually(() => connection.receivedBytes > length);
      connection.send(OK);
    });
    rig = await startRig({ port: server.port });
    const front = await startRig({ port: rig.port, attempt: { awaitContinue: true } });
    const client = new RawClient(front.port).send(head(length, line));
    if (line.startsWith("Expect")) await client.has(CONTINUE);
    client.send("x".repeat(length));
    await client.has("\r\n\r\nok");
    const sent = server.connections[0];
    expect(sent?.receivedBytes).toBe((sent?.received.indexOf("\r\n\r\n") ?? 0) + 4 + length);
    expect(front.ends).toEqual([{ kind: "done", status: 200 }]);
    expect(rig.ends).toEqual([{ kind: "done", status: 200 }]);
    expect(front.upstream.idle).toBe(1);
    client.socket.destroy();
    await front.stop();
  });
});
