/**
 * The fast front passes every suite of the safe one, and its own differences: pipelined requests are
 * served one after the other (as stock does), and what is read ahead is bounded.
 */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { answering, type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { RawClient, type Rig, startRig, useFrontForm } from "../../support/proxy-rig.ts";

useFrontForm("raw");

describe("raw front: plain requests", async () => {
  await import("./proxy-plain.test.ts");
});
describe("raw front: bodies", async () => {
  await import("./proxy-bodies.test.ts");
});
describe("raw front: continue", async () => {
  await import("./proxy-continue.test.ts");
});
describe("raw front: endings", async () => {
  await import("./proxy-endings.test.ts");
});
describe("raw front: refusals", async () => {
  await import("./proxy-refusals.test.ts");
});
describe("raw front: upgrades", async () => {
  await import("./proxy-upgrade.test.ts");
});
describe("raw front: upstream failures", async () => {
  await import("./proxy-upstream-failures.test.ts");
});
describe("raw front: h2c beside it", async () => {
  await import("./proxy-h2c.test.ts");
});

describe("raw front: what is its own", () => {
  const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  let rig: Rig | undefined;
  let server: RawServer | undefined;

  afterEach(async () => {
    await rig?.stop();
    await server?.stop();
    rig = undefined;
    server = undefined;
  });
  afterAll(() => useFrontForm("safe"));

  it("serves pipelined requests in their order, one after the other", async () => {
    server = await startRawServer(answering(OK));
    rig = await startRig({ port: server.port });
    const made = rig;
    const client = new RawClient(rig.port).send(get("/1") + get("/2") + get("/3"));
    await eventually(() => client.received.split("\r\n\r\nok").length === 4);
    expect(made.reused).toEqual([false, true, true]);
    expect(server.connections[0]?.received.match(/GET \/\d/g)).toEqual([
      "GET /1",
      "GET /2",
      "GET /3",
    ]);
    client.socket.destroy();
  });

  it("starts no pipelined request behind a client that left", async () => {
    server = await startRawServer(() => undefined);
    rig = await startRig({ port: server.port });
    const made = rig;
    const client = new RawClient(rig.port).send(get("/1") + get("/2"));
    await eventually(() => server?.connections[0]?.received.includes("\r\n\r\n"));
    client.socket.destroy();
    await eventually(() => made.ends.length === 1 && made.front.open === 0);
    expect(made.exchanges).toHaveLength(1);
  });

  it("keeps an HTTP/1.0 connection that asks for it when the answer has a length", async () => {
    server = await startRawServer(answering(OK));
    rig = await startRig({ port: server.port });
    const request = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    const client = new RawClient(rig.port).send(request);
    await client.has("\r\n\r\nok");
    expect(client.received).toContain("Connection: keep-alive\r\n");
    client.send(request);
    await eventually(() => client.received.split("\r\n\r\nok").length === 3);
    client.socket.destroy();
  });

  it("ends the connection when the client asks for it", async () => {
    server = await startRawServer(answering(OK));
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port);
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n");
    expect(await client.ended()).toMatch(/Connection: close\r\n\r\nok$/);
  });

  it("closes a kept connection that stays idle, and says how long it keeps it", async () => {
    server = await startRawServer(answering(OK));
    rig = await startRig({ port: server.port, front: { keepAliveMs: 40, headTimeoutMs: 200 } });
    const client = new RawClient(rig.port).send(get("/"));
    await client.has("Keep-Alive: timeout=0\r\n");
    expect(await client.ended()).toMatch(/ok$/);
  });

  it("reads no more than its read-ahead of what comes behind an unanswered request", async () => {
    server = await startRawServer(() => undefined);
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port).send(get("/1"));
    await eventually(() => rig?.exchanges.length === 1);
    let sent = 0;
    const piece = get("/more").repeat(2_000);
    const more = (): void => {
      while (sent < 128 * 1024 * 1024) {
        sent += piece.length;
        if (!client.socket.write(piece, "latin1")) return void client.socket.once("drain", more);
      }
    };
    more();
    let before = -1;
    await eventually(
      () => {
        const isStill = sent === before;
        before = sent;
        return isStill;
      },
      { everyMs: 200, timeoutMs: 10_000 },
    );
    // Kernel buffers of one loopback connection take some MiB.
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    expect(rig.exchanges).toHaveLength(1);
    client.socket.destroy();
  });
});
