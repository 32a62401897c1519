import { describe, expect, it } from "vitest";
import { createRandom } from "../../../common/random.ts";
import { MalformedMessage } from "../../../proxy/head-lines.ts";
import { ResponseParser } from "../../../proxy/response-parser.ts";

interface Seen {
  readonly events: string[];
  readonly body: string;
  readonly used: number;
  readonly parser: ResponseParser;
}

/** Feeds the text in pieces of the sizes that `nextSize` gives. */
function parse(text: string, nextSize: () => number, method = "GET"): Seen {
  const events: string[] = [];
  let body = "";
  const parser = new ResponseParser({
    onInformation: (head) => void events.push(`info ${head.status} ${head.headers.join("|")}`),
    onHead: (head, framing) =>
      void events.push(
        `head ${head.status} ${head.statusText} ${head.headers.join("|")} ${framing.kind}`,
      ),
    onBody: (bytes) => {
      body += bytes.toString("latin1");
    },
    onComplete: (trailers) => void events.push(`end ${trailers.join("|")}`),
  });
  parser.expect(method);
  const bytes = Buffer.from(text, "latin1");
  let used = 0;
  for (let at = 0; at < bytes.length;) {
    const piece = bytes.subarray(at, at + nextSize());
    at += piece.length;
    const taken = parser.read(piece);
    used += taken;
    if (taken < piece.length) break;
  }
  return { events, body, used, parser };
}

const GOOD: readonly (readonly [string, string, string])[] = [
  ["by length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  \xe9 \t\r\n\r\nhello", "hello"],
  ["an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""],
  ["no reason", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", "x"],
  ["an empty value", "HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 1\r\n\r\nx", "x"],
  ["no headers, until close", "HTTP/1.1 200 OK\r\n\r\nall", "all"],
  [
    "chunked",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
    "abc0123456789",
  ],
  [
    "chunked with trailers",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n1\r\n\r\r\n0\r\nA: 1\r\nB: 2\r\n\r\n",
    "\r",
  ],
  [
    "interim answers",
    "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
    "",
  ],
];

const BAD: readonly (readonly [string, string])[] = [
  ["no version", "200 OK\r\n\r\n"],
  ["a lower-case version", "http/1.1 200 OK\r\n\r\n"],
  ["a tab in the status line", "HTTP/1.1\t200 OK\r\n\r\n"],
  ["two spaces", "HTTP/1.1  200 OK\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
  ["a control byte in the reason", "HTTP/1.1 200 O\x01K\r\n\r\n"],
  ["bare LF in the head", "HTTP/1.1 200 OK\r\nA: 1\nB: 2\r\n\r\n"],
  ["bare CR in a value", "HTTP/1.1 200 OK\r\nA: 1\rB: 2\r\n\r\n"],
  ["a space before the colon", "HTTP/1.1 200 OK\r\nA : 1\r\n\r\n"],
  ["a folded value", "HTTP/1.1 200 OK\r\nA: 1\r\n 2\r\n\r\n"],
  ["an empty name", "HTTP/1.1 200 OK\r\n: 1\r\n\r\n"],
  ["DEL in a value", "HTTP/1.1 200 OK\r\nA: \x7f\r\n\r\n"],
  ["a signed length", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello"],
  ["a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello"],
  ["an empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n"],
  ["chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
  [
    "chunked twice",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["an empty chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nabc\r\n"],
  [
    "a chunk size with a sign",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+3\r\nabc\r\n0\r\n\r\n",
  ],
  [
    "a chunk size of 0x",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
  ],
  [
    "a chunk size beyond doubles",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffff\r\nabc\r\n",
  ],
  [
    "a chunk size line without end",
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${"x".repeat(9_000)}`,
  ],
  [
    "a chunk without its CRLF",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n",
  ],
  [
    "bare LF in a chunk extension",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a\nb\r\nabc\r\n0\r\n\r\n",
  ],
  ["a bad trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA : 1\r\n\r\n"],
  [
    "endless trailers",
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${"A: 1\r\n".repeat(20_000)}`,
  ],
];

describe("a response", () => {
  it.each(GOOD)("is read the same in whatever pieces it comes: %s", (_name, text, body) => {
    const whole = parse(text, () => text.length);
    expect(whole.body).toBe(body);
    expect(whole.used).toBe(text.length);
    const random = createRandom(7);
    for (const sizes of [() => 1, () => 2, () => 3, () => 1 + Math.floor(random() * 9)]) {
      const pieces = parse(text, sizes);
      expect(pieces.events).toEqual(whole.events);
      expect(pieces.body).toBe(body);
    }
  });

  it.each(BAD)("is refused, also byte by byte: %s", (_name, text) => {
    expect(() => parse(text, () => text.length)).toThrow(MalformedMessage);
    expect(() => parse(text, () => 1)).toThrow(MalformedMessage);
  });

  it.each([
    ["HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"],
    ["HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ["GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
    ["GET", "HTTP/1.1 204 No Content\r\n\r\n"],
  ])("has no body: %s %s", (method, text) => {
    const { events, parser } = parse(text, () => 4, method);
    expect(events.at(-1)).toBe("end ");
    expect(parser.isReusable).toBe(true);
  });

  it("leaves bytes behind its end, and behind a switch, to others", () => {
    const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    expect(parse(`${answer}more`, () => 1_000).used).toBe(answer.length);
    const switched = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";
    expect(parse(`${switched}\x81\x00`, () => 1_000).used).toBe(switched.length);
  });

  it.each([
    ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true, -1],
    ["HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", false, -1],
    ["HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false, -1],
    ["HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", true, -1],
    ["HTTP/1.1 200 OK\r\nKeep-Alive: max=5, timeout=12\r\nContent-Length: 0\r\n\r\n", true, 12_000],
  ])("says whether the connection may be kept: %j", (text, isReusable, hintMs) => {
    const { parser } = parse(text, () => text.length);
    expect(parser.isReusable).toBe(isReusable);
    expect(parser.idleHintMs).toBe(hintMs);
  });

  it("that ends by closing is complete then; any other is not", () => {
    const open = parse("HTTP/1.1 200 OK\r\n\r\nabc", () => 5).parser;
    expect(open.end()).toBe(true);
    expect(open.isReusable).toBe(false);
    expect(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", () => 5).parser.end()).toBe(
      false,
    );
    expect(parse("HTTP/1.1 2", () => 5).parser.end()).toBe(false);
  });

  it("counts its first byte only from the final answer on", () => {
    const interim = parse("HTTP/1.1 100 Continue\r\n\r\n", () => 100).parser;
    expect(interim.sawByte).toBe(false);
    expect(parse("H", () => 1).parser.sawByte).toBe(true);
  });
});
