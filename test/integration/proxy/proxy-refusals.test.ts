/** What two parsers could read differently is refused at the door, and the upstream sees nothing. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answering, type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { RawClient, type Rig, startRig } from "../../support/proxy-rig.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
let rig: Rig;
let server: RawServer;

beforeEach(async () => {
  server = await startRawServer(answering(OK));
  rig = await startRig({ port: server.port, front: { maxHeadBytes: 16_384, headTimeoutMs: 300 } });
});

afterEach(async () => {
  await rig.stop();
  await server.stop();
});

const HIDDEN = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
const post = (...lines: string[]): string =>
  `POST /x HTTP/1.1\r\nHost: a\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;

const MALFORMED: readonly (readonly [string, string])[] = [
  ["both length and coding", `${post("Content-Length: 4", "Transfer-Encoding: chunked")}0\r\n\r\n`],
  ["coding before length", `${post("Transfer-Encoding: chunked", "Content-Length: 4")}0\r\n\r\n`],
  ["two lengths that differ", `${post("Content-Length: 4", "Content-Length: 5")}abcd`],
  ["two lengths that agree", `${post("Content-Length: 4", "Content-Length: 4")}abcd`],
  ["a list of lengths", `${post("Content-Length: 4, 4")}abcd`],
  ["a signed length", `${post("Content-Length: +4")}abcd`],
  ["a negative length", `${post("Content-Length: -4")}abcd`],
  ["a hexadecimal length", `${post("Content-Length: 0x4")}abcd`],
  ["a length beyond all numbers", `${post("Content-Length: 99999999999999999999")}abcd`],
  ["an empty length", `${post("Content-Length: ")}abcd`],
  ["an unknown coding", `${post("Transfer-Encoding: xchunked")}0\r\n\r\n`],
  ["a coding besides chunked", `${post("Transfer-Encoding: gzip, chunked")}0\r\n\r\n`],
  ["chunked that is not last", `${post("Transfer-Encoding: chunked, identity")}0\r\n\r\n`],
  ["chunked twice", `${post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked")}0\r\n\r\n`],
  ["a quoted coding", `${post('Transfer-Encoding: "chunked"')}0\r\n\r\n`],
  ["a coding with a vertical tab", `${post("Transfer-Encoding: \x0bchunked")}0\r\n\r\n`],
  [
    "chunked in HTTP/1.0",
    "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["a space before the colon", `${post("Content-Length : 4")}abcd`],
  ["a space before the colon of a coding", `${post("Transfer-Encoding : chunked")}0\r\n\r\n`],
  ["a folded header", `${post("X-A: 1\r\n  2")}`],
  ["a folded coding", `${post("Transfer-Encoding:\r\n chunked")}0\r\n\r\n`],
  ["a space before the first header", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"],
  ["bare LF after a header", "GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n"],
  ["bare LF at the end of the head", "GET / HTTP/1.1\r\nHost: a\r\n\n"],
  ["bare CR in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r2\r\n\r\n"],
  ["NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\x002\r\n\r\n"],
  ["NUL in a name", "GET / HTTP/1.1\r\nHost: a\r\nX\x00: 1\r\n\r\n"],
  ["a header without a name", "GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n"],
  ["a line without a colon", "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n"],
  ["no host", "GET / HTTP/1.1\r\nX: 1\r\n\r\n"],
  ["two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"],
  ["a host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"],
  ["a host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"],
  ["a target that contradicts the host", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["a target with user information", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["an unknown version", "GET / HTTP/3.7\r\nHost: a\r\n\r\n"],
  ["HTTP/0.9", "GET /\r\n\r\n"],
  ["an asterisk for GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n"],
  ["no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"],
];

describe("a request with ambiguous framing or head", () => {
  it.each(MALFORMED)("is refused: %s", async (_name, bytes) => {
    const client = new RawClient(rig.port).send(bytes + HIDDEN);
    const text = await client.ended();
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 400"]);
    expect(text).toContain("malformed_request");
    expect(text).toContain("Connection: close");
    expect(server.connections).toHaveLength(0);
    expect(rig.exchanges).toHaveLength(0);
    await eventually(() => rig.front.open === 0);
  });

  it("is refused after the answer to the request before it", async () => {
    const client = new RawClient(rig.port);
    client.send(`GET / HTTP/1.1\r\nHost: a\r\n\r\n${post("Content-Length : 4")}abcd`);
    const text = await client.ended();
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  });

  it.each([
    ["a chunk size that is no number", "zz\r\nabc\r\n0\r\n\r\n"],
    ["a chunk longer than its size", "2\r\nabcdef\r\n0\r\n\r\n"],
    ["a chunk size with bare LF", "3\nabc\r\n0\r\n\r\n"],
    ["a negative chunk size", "-1\r\nabc\r\n0\r\n\r\n"],
    ["a chunk size beyond all numbers", "fffffffffffffffff\r\nabc\r\n0\r\n\r\n"],
  ])("is refused in its body: %s", async (_name, body) => {
    const client = new RawClient(rig.port);
    client.send(post("Transfer-Encoding: chunked"));
    await eventually(() => rig.exchanges.length === 1);
    client.send(body + HIDDEN);
    const text = await client.ended();
    expect(text).not.toContain("hidden");
    expect(text.match(/HTTP\/1\.1 \d+/g) ?? []).not.toContain("HTTP/1.1 502");
    expect(text.split("HTTP/1.1 ").length).toBeLessThanOrEqual(2);
    await eventually(() => rig.front.open === 0);
    expect(rig.exchanges).toHaveLength(1);
  });

  it("is refused with 431 when its head is too large", async () => {
    const client = new RawClient(rig.port);
    client.send(`GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`);
    expect(await client.ended()).toContain("HTTP/1.1 431");
  });

  it("passes more than a thousand small headers, none dropped", async () => {
    const lines = Array.from({ length: 1_200 }, (_, i) => `a${i}: 1\r\n`).join("");
    const client = new RawClient(rig.port);
    client.send(`GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n`);
    await client.has("ok");
    expect(server.connections[0]?.received).toContain("a1199: 1\r\n");
    client.socket.destroy();
  });

  it("is refused with 408 when its head does not come", async () => {
    const client = new RawClient(rig.port).send("GET / HTTP/1.1\r\nHos");
    expect(await client.ended()).toContain("HTTP/1.1 408");
  });

  it("is refused with 417 when it expects something unknown", async () => {
    const client = new RawClient(rig.port).send(
      `${post("Expect: 200-maybe", "Content-Length: 2")}ab`,
    );
    expect(await client.ended()).toContain("HTTP/1.1 417");
    expect(server.connections).toHaveLength(0);
  });
});

describe("a request that is odd but legal", () => {
  it.each([
    ["an empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n"],
    ["a tab before the value", "GET / HTTP/1.1\r\nHost:\ta\r\n\r\n"],
    ["CRLF before the request line", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["coding in capitals", `${post("Transfer-Encoding: Chunked")}0\r\n\r\n`],
    ["an asterisk for OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a chunk extension", `${post("Transfer-Encoding: chunked")}3;a="b"\r\nabc\r\n0\r\n\r\n`],
    ["a length with leading zeros", `${post("Content-Length: 0004")}abcd`],
    [
      "h2c upgrade, which is ignored",
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n",
    ],
    [
      "an upgrade wish on a request with a body",
      `${post("Connection: Upgrade", "Upgrade: websocket", "Content-Length: 4")}abcd`,
    ],
  ])("is forwarded with one framing header: %s", async (_name, bytes) => {
    const client = new RawClient(rig.port).send(bytes);
    await client.has("ok");
    const sent = server.connections[0]?.received.toLowerCase() ?? "";
    const framings = sent.match(/\r\n(content-length|transfer-encoding):/g) ?? [];
    expect(framings.length).toBe(bytes.startsWith("POST") ? 1 : 0);
    expect(sent).not.toContain("upgrade");
    client.socket.destroy();
  });
});
