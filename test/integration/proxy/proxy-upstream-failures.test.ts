/** Upstreams that refuse, break, babble or die: how the attempt ends and what the client sees. */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { connect as dialTls } from "node:tls";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { startFrozenServer } from "../../fixtures/servers/frozen-server.ts";
import { startHastyServer } from "../../fixtures/servers/hasty-server.ts";
import {
  answering,
  type RawConnection,
  type RawServer,
  startRawServer,
} from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { RawClient, type Rig, startRig } from "../../support/proxy-rig.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
let rig: Rig | undefined;
let server: RawServer | undefined;

afterEach(async () => {
  await rig?.stop();
  await server?.stop();
  rig = undefined;
  server = undefined;
});

type Serve = (connection: RawConnection, index: number) => void | Promise<void>;

/** Answers one GET through an upstream that behaves like `serve`; returns all the client got. */
async function getFrom(serve: Serve, request = GET): Promise<{ text: string; rig: Rig }> {
  server = await startRawServer(serve);
  rig = await startRig({ port: server.port });
  const made = rig;
  const client = new RawClient(rig.port).send(request);
  await eventually(() => made.ends.length === 1 && made.front.open === 0);
  await eventually(() => client.received !== "" || client.isClosed || client.sawEnd);
  client.socket.destroy();
  return { text: client.received, rig: made };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return port;
}

describe("an upstream that cannot be reached", () => {
  it("ends the attempt as refused, with nothing delivered", async () => {
    rig = await startRig({ port: await freePort() });
    const client = new RawClient(rig.port).send(GET);
    await client.has("connect-failed");
    expect(rig.ends).toMatchObject([{ kind: "connect-failed", failure: "refused" }]);
    client.socket.destroy();
  });

  it("ends the attempt as timeout when connecting takes too long", async () => {
    const frozen = await startFrozenServer();
    const limits = { connectMs: 60, startMs: 0, idleMs: 0, totalMs: 0 };
    rig = await startRig({ port: frozen.port, attempt: { limits } });
    const client = new RawClient(rig.port).send(GET);
    await client.has("connect-failed");
    expect(rig.ends).toMatchObject([{ kind: "connect-failed", failure: "timeout" }]);
    client.socket.destroy();
    await frozen.stop();
  });

  // Closed in order, not reset: nothing of a request is sent before the handshake is over.
  it.each(["http1", "h2c"] as const)(
    "is not reached when it hangs up in a handshake, %s",
    async (protocol) => {
      server = await startRawServer(async (connection) => {
        await eventually(() => connection.receivedBytes > 0);
        connection.socket.end();
      });
      const dialer = {
        key: "tls",
        dial: (to: { readonly host: string; readonly port: number }) =>
          dialTls({ ...to, rejectUnauthorized: false }),
      };
      rig = await startRig({ port: server.port, attempt: { protocol, dialer } });
      const client = new RawClient(rig.port).send(GET);
      await client.has("connect-failed");
      expect(rig.ends).toMatchObject([{ kind: "connect-failed", failure: "reset" }]);
      client.socket.destroy();
    },
  );

  it("is no timeout when only our own process stalled", async () => {
    server = await startRawServer(answering(OK));
    const { port } = server;
    const limits = { connectMs: 50, startMs: 0, idleMs: 0, totalMs: 0 };
    rig = await startRig({
      onExchange: (exchange, made) => {
        exchange.forward(made.attemptTo(port, exchange, { limits }));
        // The kernel connects meanwhile; the timer rings before anybody reads of it.
        for (const endsAt = performance.now() + 120; performance.now() < endsAt;);
      },
    });
    const client = new RawClient(rig.port).send(GET);
    await client.has("ok");
    expect(rig.ends).toMatchObject([{ kind: "done", status: 200 }]);
    client.socket.destroy();
  });

  // A POST that went out on it could not be sent again: nobody knows whether it ran.
  it("gets a new connection when the old one may have ended while our process stood still", async () => {
    const hasty = await startHastyServer();
    onTestFinished(() => hasty.stop());
    rig = await startRig({
      onExchange: (exchange, made) => {
        const isSecond = made.exchanges.length === 2;
        for (const endsAt = performance.now() + 2_000; isSecond && performance.now() < endsAt;);
        exchange.forward(made.attemptTo(hasty.port, exchange));
      },
    });
    const made = rig;
    const client = new RawClient(rig.port).send(GET);
    await eventually(() => made.upstream.idle === 1);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
    await eventually(() => made.ends.length === 2);
    expect(rig.ends).toMatchObject([{ kind: "done" }, { kind: "done", status: 200 }]);
    expect(rig.reused).toEqual([false, false]);
    client.socket.destroy();
  });

  it("lets the handler forward again, with the body, as often as needed", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("hello");
      connection.send(OK);
    });
    const good = server.port;
    const dead = await freePort();
    rig = await startRig({
      onExchange: (exchange, made) => {
        let attempts = 0;
        const again = (): void => {
          attempts += 1;
          exchange.forward({
            ...made.attemptTo(attempts > 3 ? good : dead, exchange),
            onEnd: (end) => {
              made.ends.push(end);
              if (end.kind === "connect-failed") again();
            },
          });
        };
        again();
      },
    });
    const client = new RawClient(rig.port);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    await client.has("ok");
    expect(rig.ends.map((end) => end.kind)).toEqual([
      "connect-failed",
      "connect-failed",
      "connect-failed",
      "done",
    ]);
    client.socket.destroy();
  });
});

describe("an upstream that breaks before its answer", () => {
  it("ends as reset when it closes", async () => {
    const { rig: made, text } = await getFrom(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.socket.end();
    });
    expect(made.ends).toMatchObject([{ kind: "reset", reused: false, bodySent: false }]);
    expect(text).toContain("502");
  });

  it("ends as reset when it resets, and tells that body bytes were sent", async () => {
    const { rig: made } = await getFrom(async (connection) => {
      await connection.has("abc");
      connection.reset();
    }, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    expect(made.ends).toMatchObject([{ kind: "reset", reused: false, bodySent: true }]);
  });

  it("ends as reset after an interim answer, which is no answer", async () => {
    const { rig: made } = await getFrom(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send("HTTP/1.1 103 Early Hints\r\n\r\n");
      connection.socket.end();
    });
    expect(made.ends).toMatchObject([{ kind: "reset" }]);
  });

  it("tells that the connection was a reused one", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("/1");
      connection.send(OK);
      await connection.has("/2");
      connection.reset();
    });
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port).send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.has("ok");
    client.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.has("502");
    expect(rig.ends).toMatchObject([{ kind: "done" }, { kind: "reset", reused: true }]);
    client.socket.destroy();
  });
});

describe("an upstream that speaks no valid HTTP", () => {
  it.each([
    ["garbage", "\x00\x01\x02 what is this\r\n\r\n"],
    ["half a head", "HTTP/1.1 200 OK\r\nContent-Le"],
    ["bare LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok"],
    ["another version", "HTTP/2.0 200 OK\r\n\r\n"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
    [
      "length and coding",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"],
    ["an unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"],
    ["a folded header", "HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\nContent-Length: 0\r\n\r\n"],
    ["a space before the colon", "HTTP/1.1 200 OK\r\nX : 1\r\nContent-Length: 0\r\n\r\n"],
    ["NUL in a value", "HTTP/1.1 200 OK\r\nX: \x00\r\nContent-Length: 0\r\n\r\n"],
    [
      "a switch nobody asked for",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
    ],
    ["a head of more than a mebibyte", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(1_100_000)}`],
  ])("ends as bad response: %s", async (_name, answer) => {
    const { rig: made, text } = await getFrom(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send(answer);
      connection.socket.end();
    });
    expect(made.ends).toMatchObject([{ kind: "bad-response" }]);
    expect(text).toContain("502");
    expect(made.upstream.idle).toBe(0);
  });

  it("passes a head of half a mebibyte", async () => {
    const { rig: made, text } = await getFrom(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ${"x".repeat(500_000)}\r\n\r\n`);
    });
    expect(made.ends).toMatchObject([{ kind: "done" }]);
    expect(text.length).toBeGreaterThan(0);
  });
});

describe("an answer that breaks after it began", () => {
  const HALVES: readonly (readonly [string, string])[] = [
    ["by length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"],
    ["chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
    ["in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf"],
    [
      "before its trailers",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n",
    ],
    [
      "with a bad chunk",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n",
    ],
  ];

  it.each(HALVES)("is cut, without a last chunk: %s", async (_name, half) => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send(half);
      await eventually(() => client.received.includes("half"));
      connection.socket.end();
    });
    rig = await startRig({ port: server.port });
    const client: RawClient = new RawClient(rig.port).send(GET);
    const text = await client.ended();
    expect(text).toContain("half");
    expect(text).not.toContain("\n0\r\n\r\n");
    expect(rig.ends).toMatchObject([{ kind: "cut", status: 200 }]);
  });

  it("resets an HTTP/1.0 client, for which a close would be a complete answer", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
      await eventually(() => client.received.includes("half"));
      connection.reset();
    });
    rig = await startRig({ port: server.port });
    const client: RawClient = new RawClient(rig.port).send("GET / HTTP/1.0\r\n\r\n");
    await eventually(() => client.isClosed);
    expect(client.wasReset).toBe(true);
    expect(client.sawEnd).toBe(false);
  });
});

describe("a connection in the pool", () => {
  it("is not used after the upstream closed it", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send(OK);
      connection.socket.end();
    });
    rig = await startRig({ port: server.port });
    const made = rig;
    const client = new RawClient(rig.port).send(GET);
    await client.has("ok");
    await eventually(() => made.upstream.idle === 0);
    client.send(GET);
    await eventually(() => made.ends.length === 2);
    expect(made.ends.map((end) => end.kind)).toEqual(["done", "done"]);
    expect(made.reused).toEqual([false, false]);
    client.socket.destroy();
  });

  it.each([
    ["bytes behind the answer", `${OK}surplus`],
    ["a second answer nobody asked for", OK + OK],
    ["Connection: close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"],
    ["HTTP/1.0 without keep-alive", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"],
    [
      "Keep-Alive of one second",
      "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok",
    ],
  ])("is not kept after %s", async (_name, answer) => {
    server = await startRawServer(answering(answer));
    rig = await startRig({ port: server.port });
    const made = rig;
    const client = new RawClient(rig.port).send(GET);
    await client.has("ok");
    await eventually(() => server?.connections[0]?.sawEnd === true);
    expect(made.upstream.idle).toBe(0);
    client.send(GET);
    await eventually(() => made.reused.length === 2);
    expect(made.reused).toEqual([false, false]);
    client.socket.destroy();
  });

  it.each([
    [
      "HTTP/1.0 with keep-alive",
      "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
    ],
    [
      "Keep-Alive of five seconds",
      "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=9\r\nContent-Length: 2\r\n\r\nok",
    ],
  ])("is kept after %s", async (_name, answer) => {
    const { rig: made } = await getFrom(answering(answer));
    expect(made.upstream.idle).toBe(1);
  });

  it("is closed by us after its idle time, and its pool vanishes", async () => {
    server = await startRawServer(answering(OK));
    rig = await startRig({ port: server.port, upstream: { idleMs: 100 } });
    const made = rig;
    const client = new RawClient(rig.port).send(GET);
    await client.has("ok");
    expect(made.upstream.pools).toBe(1);
    await eventually(() => made.upstream.pools === 0);
    await eventually(() => server?.connections[0]?.sawEnd === true);
    expect(made.upstream.idle).toBe(0);
    client.socket.destroy();
  });

  it("is limited in number: the oldest goes", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      await eventually(() => server?.connections.length === 3);
      connection.send(OK);
    });
    rig = await startRig({ port: server.port, upstream: { maxIdlePerHost: 2 } });
    const made = rig;
    const clients = [1, 2, 3].map(() => new RawClient(made.port).send(GET));
    await Promise.all(clients.map((client) => client.has("ok")));
    await eventually(() => made.upstream.idle === 2);
    expect(made.upstream.pools).toBe(1);
    for (const { socket } of clients) socket.destroy();
  });
});
