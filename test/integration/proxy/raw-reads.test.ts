/**
 * The fast front reads into buffers that it uses again: what is kept of a read is never read over,
 * by this connection or by another.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Exchange } from "../../../proxy/types.ts";
import { answering, type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { RawClient, type Rig, startRig, useFrontForm } from "../../support/proxy-rig.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const PIECES = ["one ".repeat(2_000), "two ".repeat(2_000), "three ".repeat(2_000)] as const;
const BODY = PIECES.join("");
const POST = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY.length}\r\n\r\n`;

const servers: RawServer[] = [];
const clients: RawClient[] = [];
let rig: Rig | undefined;

beforeEach(() => useFrontForm("raw"));
afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy();
  await rig?.stop();
  for (const server of servers.splice(0)) await server.stop();
  useFrontForm("safe");
});

async function upstream(serve: Parameters<typeof startRawServer>[0]): Promise<RawServer> {
  const server = await startRawServer(serve);
  servers.push(server);
  return server;
}

function client(): RawClient {
  const made = new RawClient(rig?.port ?? 0);
  clients.push(made);
  return made;
}

/** Fills the read buffers of the front with other bytes. */
async function readOver(): Promise<void> {
  const other = client().send(
    `GET /other HTTP/1.1\r\nHost: a\r\nX-Fill: ${"-".repeat(40_000)}\r\n\r\n`,
  );
  await other.has("ok");
}

const bodyOf = (server: RawServer): string =>
  server.connections[0]?.received.split("\r\n\r\n")[1] ?? "";

describe("what the fast front keeps of its reads", () => {
  it("is a body that nobody has taken yet", async () => {
    const server = await upstream(answering(OK));
    const others = await upstream(answering(OK));
    let held: Exchange | undefined;
    rig = await startRig({
      onExchange: (exchange, made) => {
        if (exchange.head.method === "POST") held = exchange;
        else exchange.forward(made.attemptTo(others.port, exchange));
      },
    });
    const caller = client().send(POST + BODY);
    await eventually(() => held !== undefined);
    await readOver();
    if (held !== undefined) held.forward(rig.attemptTo(server.port, held));
    await caller.has("ok");
    await eventually(() => bodyOf(server).length >= BODY.length);
    expect(bodyOf(server) === BODY).toBe(true);
  });

  it("is a body for another attempt, read piece by piece", async () => {
    const lost = await upstream(async (connection) => {
      await connection.has(PIECES[2].slice(-100));
      await eventually(() => connection.received.split("\r\n\r\n")[1]?.length === BODY.length);
      connection.reset();
    });
    const server = await upstream(answering(OK));
    rig = await startRig({
      onExchange: (exchange, made) => {
        const onEnd = (): void => void exchange.forward(made.attemptTo(server.port, exchange));
        exchange.forward({ ...made.attemptTo(lost.port, exchange), onEnd });
      },
      front: { replayBytes: 1_000_000 },
    });
    const caller = client().send(POST);
    for (const [index, piece] of PIECES.entries()) {
      caller.send(piece);
      const upTo = PIECES.slice(0, index + 1).join("").length;
      if (index < 2) await eventually(() => bodyOf(lost).length === upTo);
    }
    await caller.has("ok");
    await eventually(() => bodyOf(server).length >= BODY.length);
    expect(bodyOf(server) === BODY).toBe(true);
  });

  it("is what a look at a body saw, read piece by piece", async () => {
    const server = await upstream(answering(OK));
    const seen: (string | undefined)[] = [];
    const look = { maxBytes: 1_000_000, withinMs: 5_000 };
    rig = await startRig({
      onExchange: (exchange, made) => {
        const forward = (): unknown => exchange.forward(made.attemptTo(server.port, exchange));
        if (exchange.head.method !== "POST") return void forward();
        const onBody = (body: Buffer | null): void => {
          seen.push(body?.toString("latin1"));
          forward();
        };
        return exchange.peekBody({ ...look, onBody });
      },
    });
    const caller = client().send(POST);
    for (const piece of PIECES) {
      caller.send(piece);
      await readOver();
    }
    await eventually(() => seen.length === 1);
    expect(seen[0] === BODY).toBe(true);
    await caller.has("ok");
  });

  it("is a request that comes in pieces", async () => {
    const server = await upstream(answering(OK));
    rig = await startRig({ port: server.port });
    const caller = client();
    for (const piece of ["GET /slow HT", "TP/1.1\r\nHo", "st: a\r\nX-A: b", "c\r\n\r\n"]) {
      caller.send(piece);
      await readOver();
    }
    await caller.has("ok");
    const read = rig.exchanges.find(({ head }) => head.target === "/slow");
    expect(read?.head.headers).toEqual(["Host", "a", "X-A", "bc"]);
  });
});

describe("connections of the fast front", () => {
  it("are no more at a time than allowed, whatever became of them", async () => {
    const server = await upstream(answering(OK));
    rig = await startRig({ port: server.port, front: { maxConnections: 2 } });
    const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const [first, second] = [client().send(get), client().send(get)];
    await first.has("ok");
    await second.has("ok");
    expect(await client().ended()).toBe("");
    first.socket.destroy();
    await eventually(async () => {
      const next = client().send(get);
      await eventually(() => next.received.includes("ok") || next.sawEnd);
      return next.received.includes("ok");
    });
  });
});
