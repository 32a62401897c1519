/** Looking at a request body before the first attempt: what is seen, and that nothing is lost by it. */
import { afterEach, describe, expect, it } from "vitest";
import type { Exchange } from "../../../proxy/types.ts";
import { eventually } from "../../support/eventually.ts";
import { RawClient, type Rig, startRig, useFrontForm } from "../../support/proxy-rig.ts";
import { type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

let rig: Rig | undefined;
let server: RawServer | undefined;
let client: RawClient | undefined;
let seen: (string | null)[] = [];

afterEach(async () => {
  client?.socket.destroy();
  await rig?.stop();
  await server?.stop();
  useFrontForm("safe");
});

interface Limits {
  readonly maxBytes?: number;
  readonly withinMs?: number;
}

/** A handler that looks first and forwards then; the upstream answers when it has seen `tail`. */
async function start(form: "safe" | "raw", limits: Limits = {}): Promise<RawClient> {
  seen = [];
  useFrontForm(form);
  server = await startRawServer(async (connection) => {
    await connection.has("tail");
    connection.send(OK);
  });
  const { port } = server;
  rig = await startRig({
    onExchange: (exchange: Exchange, made) =>
      exchange.peekBody({
        maxBytes: limits.maxBytes ?? 1_000,
        withinMs: limits.withinMs ?? 5_000,
        onBody: (body) => {
          seen.push(body === null ? null : body.toString("latin1"));
          exchange.forward(made.attemptTo(port, exchange));
        },
      }),
  });
  client = new RawClient(rig.port);
  return client;
}

const post = (length: number): string =>
  `POST /tail HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
const CHUNKED = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

describe.each(["safe", "raw"] as const)("a look at the body on the %s front", (form) => {
  it("sees a body that comes in pieces, and the upstream gets all of it", async () => {
    const caller = await start(form);
    caller.send(post(8)).send("body");
    await eventually(() => rig?.exchanges.length === 1);
    expect(seen).toEqual([]);
    caller.send("tail");
    await caller.has("ok");
    expect(seen).toEqual(["bodytail"]);
    expect(server?.connections[0]?.received).toMatch(/\r\n\r\nbodytail$/);
  });

  it("sees a chunked body", async () => {
    const caller = await start(form);
    caller.send(CHUNKED).send("4\r\nbody\r\n4\r\ntail\r\n0\r\n\r\n");
    await caller.has("ok");
    expect(seen).toEqual(["bodytail"]);
  });

  it("lets a body pass unseen that is announced longer than the look", async () => {
    const caller = await start(form, { maxBytes: 7 });
    caller.send(post(8)).send("bodytail");
    await caller.has("ok");
    expect(seen).toEqual([null]);
  });

  it("gives up a chunked body that grows longer than the look, and loses nothing of it", async () => {
    const caller = await start(form, { maxBytes: 7 });
    caller.send(CHUNKED).send("4\r\nbody\r\n5\r\n-long\r\n");
    await eventually(() => seen.length === 1);
    caller.send("5\r\n-tail\r\n0\r\n\r\n");
    await caller.has("ok");
    expect(seen).toEqual([null]);
    expect(server?.connections[0]?.received).toContain("body");
    expect(server?.connections[0]?.received).toContain("-long");
  });

  it("waits for a slow body no longer than it was told", async () => {
    const caller = await start(form, { withinMs: 20 });
    caller.send(post(8)).send("body");
    await eventually(() => seen.length === 1);
    expect(seen).toEqual([null]);
    caller.send("tail");
    await caller.has("ok");
    expect(server?.connections[0]?.received).toMatch(/\r\n\r\nbodytail$/);
  });

  it("answers at once where there is no body, or one that is waited for by a 100", async () => {
    const caller = await start(form);
    caller.send("GET /tail HTTP/1.1\r\nHost: a\r\n\r\n");
    await caller.has("ok");
    expect(seen).toEqual([null]);
    caller.send(
      "PUT /tail HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
    );
    await eventually(() => seen.length === 2);
    expect(seen).toEqual([null, null]);
  });

  it("tells nobody when the client leaves first", async () => {
    const caller = await start(form);
    caller.send(post(8)).send("body");
    await eventually(() => rig?.exchanges.length === 1);
    caller.socket.destroy();
    await eventually(() => rig?.exchanges[0]?.clientGone === true);
    expect(seen).toEqual([]);
  });
});

describe("what an attempt tells of its way", () => {
  it("names the 100 of the upstream and each piece of the answer", async () => {
    const told: string[] = [];
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send("HTTP/1.1 100 Continue\r\n\r\n");
      await connection.has("tail");
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nto\r\n");
      await eventually(() => told.length === 2);
      connection.send("2\r\nld\r\n0\r\n\r\n");
    });
    const { port } = server;
    rig = await startRig({
      port,
      attempt: {
        awaitContinue: true,
        onContinue: () => told.push("100"),
        onChunk: (bytes) => told.push(bytes.toString("latin1")),
      },
    });
    client = new RawClient(rig.port).send(post(4)).send("tail");
    await client.has("0\r\n\r\n");
    expect(told).toEqual(["100", "to", "ld"]);
  });
});
