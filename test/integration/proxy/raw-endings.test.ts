/** The last moments of an answer on the fast front, with what else may happen in the same turn. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Exchange } from "../../../proxy/types.ts";
import { type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { RawClient, type Rig, startRig, useFrontForm } from "../../support/proxy-rig.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const CHUNKED = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
const KEPT = 8;

let rig: Rig | undefined;
let server: RawServer | undefined;

beforeAll(() => useFrontForm("raw"));
afterAll(() => useFrontForm("safe"));
afterEach(async () => {
  await rig?.stop();
  await server?.stop();
  rig = undefined;
  server = undefined;
});

const answer = (exchange: Exchange, body: string): void =>
  exchange.answer({ status: 200, headers: [], body });

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe("an answer of our own", () => {
  it("goes out when the front is closed in the same turn", async () => {
    rig = await startRig({
      onExchange: (exchange, made) => {
        answer(exchange, "bye");
        void made.front.close();
      },
    });
    const client = new RawClient(rig.port).send(GET);
    await eventually(() => client.sawEnd);
    expect(client.received).toMatch(/\r\n\r\nbye$/);
  });

  it("goes out for each request before the end of the client's side", async () => {
    rig = await startRig({
      onExchange: (exchange) => answer(exchange, `<${exchange.head.target}>`),
    });
    const client = new RawClient(rig.port).send(get("/1") + get("/2") + get("/3"));
    client.socket.end();
    await eventually(() => client.sawEnd);
    expect(client.received.match(/<.*?>/g)).toEqual(["</1>", "</2>", "</3>"]);
  });

  it("goes out when the rest of the body that is read off for it turns out malformed", async () => {
    let asked: Exchange | undefined;
    rig = await startRig({ onExchange: (exchange) => void (asked = exchange) });
    const client = new RawClient(rig.port).send(`${CHUNKED}3\r\nabc\r\nZZ\r\n`);
    await eventually(() => asked !== undefined);
    if (asked !== undefined) answer(asked, "enough");
    await eventually(() => client.sawEnd);
    expect(client.received).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\nenough$/s);
    expect(client.received).toContain("Connection: close");
  });

  it("stays before those behind it, however late its client reads it", async () => {
    const large = "a".repeat(8_000_000);
    const asked: Exchange[] = [];
    rig = await startRig({
      onExchange: (exchange) => {
        asked.push(exchange);
        if (exchange.head.target === "/a") answer(exchange, large);
        if (exchange.head.target === "/c") answer(exchange, "<c>");
      },
    });
    const client = new RawClient(rig.port);
    client.socket.pause();
    client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
    await eventually(() => asked.length === 1);
    client.send(`67890${get("/b")}${get("/c")}`);
    await eventually(() => asked.length === 2);
    client.socket.resume();
    await eventually(() => client.received.length >= large.length);
    const [, second] = asked;
    if (second !== undefined) answer(second, "<b>");
    await eventually(() => client.received.endsWith("<c>"));
    expect(client.received.indexOf("<b>")).toBeGreaterThan(large.length);
    expect(client.received.indexOf("<b>")).toBeLessThan(client.received.indexOf("<c>"));
  });
});

describe("a body that turns out malformed", () => {
  it("is refused once, and read off so that its client sees the refusal", async () => {
    server = await startRawServer(() => {});
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port).send(CHUNKED);
    await eventually(() => rig?.exchanges.length === 1);
    client.send(`5\r\nhello\r\nZZ\r\n${"x".repeat(400_000)}`);
    await eventually(() => client.sawEnd);
    expect(client.received.match(/HTTP\/1\.1 400/g)).toHaveLength(1);
    expect(client.wasReset).toBe(false);
  });
});

describe("kept connections that all end at once", () => {
  it("cost a request no more than a new connection", async () => {
    const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let isHeld = true;
    server = await startRawServer(async (connection) => {
      await eventually(() => connection.receivedBytes > 0 && !isHeld);
      connection.send(OK);
    });
    rig = await startRig({ port: server.port });
    const { upstream, ends } = rig;
    const clients = Array.from({ length: KEPT }, () => new RawClient(rig?.port ?? 0).send(GET));
    await eventually(() => server?.connections.length === KEPT);
    isHeld = false;
    await eventually(() => upstream.idle === KEPT);
    clients[0]?.send(GET);
    // The one used last is taken first, and its end is read first.
    for (const { socket } of server.connections.toReversed()) socket.destroy();
    await eventually(() => ends.length === KEPT + 1);
    expect(ends.at(-1)).toMatchObject({ kind: "done", status: 200 });
    for (const { socket } of clients) socket.destroy();
  });
});
