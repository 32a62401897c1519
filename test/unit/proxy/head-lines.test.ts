import { describe, expect, it } from "vitest";
import { createRandom } from "../../../common/random.ts";
import { findEndOfHead, HeadBlock, MalformedMessage } from "../../../proxy/head-lines.ts";
import { readStatusLine } from "../../../proxy/status-line.ts";

describe("the end of a head", () => {
  it("is where Node finds it, in any mixture of line ends", () => {
    const random = createRandom(11);
    const draw = (): string => ["\r", "\n", "\r\n", "a", "bcd"][Math.floor(random() * 5)] ?? "";
    for (let round = 0; round < 20_000; round += 1) {
      const text = Array.from({ length: Math.floor(random() * 14) }, draw).join("");
      const bytes = Buffer.from(text);
      const start = Math.floor(random() * 4);
      expect([text, start, findEndOfHead(bytes, start)]).toEqual([
        text,
        start,
        bytes.indexOf("\r\n\r\n", start),
      ]);
    }
  });
});

describe("a status line", () => {
  const read = (line: string) => {
    const bytes = Buffer.from(`##${line}\r\n\r\n`, "latin1");
    return readStatusLine(new HeadBlock(bytes, 2, bytes.length - 2));
  };

  it("has a version, three digits and perhaps words", () => {
    expect(read("HTTP/1.1 200 OK")).toEqual({
      isVersion11: true,
      status: 200,
      statusText: "OK",
      end: 19,
    });
    expect(read("HTTP/1.0 503")).toMatchObject({ isVersion11: false, status: 503, statusText: "" });
    expect(read("HTTP/1.1 100 ")).toMatchObject({ status: 100, statusText: "" });
    expect(read("HTTP/1.1 999 N\u00e4h!\tso")).toMatchObject({ statusText: "N\u00e4h!\tso" });
  });

  it.each([
    "HTTP/1.2 200 OK",
    "HTTP/2.0 200 OK",
    "http/1.1 200 OK",
    "HTTP/1.1  200 OK",
    "HTTP/1.1 099 OK",
    "HTTP/1.1 20 OK",
    "HTTP/1.1 2000 OK",
    "HTTP/1.1 2x0 OK",
    "HTTP/1.1 200OK",
    "HTTP/1.1 200 O\u0000K",
    "HTTP/1.1 200 O\nK",
    "HTTP/1.1",
    "",
  ])("is refused as %j", (line) => {
    expect(() => read(line)).toThrow(MalformedMessage);
  });
});
