import { describe, expect, it } from "vitest";
import {
  appendForwardedFor,
  appendHeader,
  connectionTokens,
  getHeader,
  getHeaderValues,
  hasHeader,
  isHopByHop,
  safeTrailers,
  withHeader,
  withoutHeaders,
  withoutHopByHop,
} from "../../../proxy/headers.ts";
import { HOP_BY_HOP_HEADERS } from "../../../common/contracts/headers.ts";

const LIST = ["Host", "a", "X-One", "1", "x-one", "2", "Accept", "*/*"] as const;

describe("flat header lists", () => {
  it("finds by name without regard to case", () => {
    expect(getHeader(LIST, "x-one")).toBe("1");
    expect(getHeaderValues(LIST, "x-one")).toEqual(["1", "2"]);
    expect(getHeader(LIST, "none")).toBeUndefined();
    expect(hasHeader(LIST, "accept")).toBe(true);
    expect(hasHeader(LIST, "accep")).toBe(false);
  });

  it("leaves out by name and keeps the rest as spelled and in order", () => {
    expect(withoutHeaders(LIST, new Set(["x-one"]))).toEqual(["Host", "a", "Accept", "*/*"]);
  });

  it("sets at the first place, once, and at the end when it was not there", () => {
    expect(withHeader(LIST, "X-ONE", "9")).toEqual(["Host", "a", "X-One", "9", "Accept", "*/*"]);
    expect(withHeader(["A", "1"], "B", "2")).toEqual(["A", "1", "B", "2"]);
  });

  it("appends to a list header and joins its lines", () => {
    expect(appendHeader(LIST, "X-One", "3")).toEqual([
      "Host",
      "a",
      "X-One",
      "1, 2, 3",
      "Accept",
      "*/*",
    ]);
    expect(appendForwardedFor(["x-forwarded-for", "1.2.3.4"], "5.6.7.8")).toEqual([
      "x-forwarded-for",
      "1.2.3.4, 5.6.7.8",
    ]);
    expect(appendForwardedFor([], "5.6.7.8")).toEqual(["X-Forwarded-For", "5.6.7.8"]);
  });

  it("drops hop-by-hop headers and those that Connection names, on several lines", () => {
    const headers = [
      "Connection",
      "close, X-Secret",
      "X-Secret",
      "s",
      "connection",
      " Other ",
      "other",
      "o",
      "TE",
      "trailers",
      "Keep-Alive",
      "timeout=5",
      "Upgrade",
      "x",
      "Proxy-Connection",
      "x",
      "Transfer-Encoding",
      "chunked",
      "Trailer",
      "X",
      "Kept",
      "k",
      "Content-Length",
      "3",
    ];
    expect(connectionTokens(headers)).toEqual(["close", "x-secret", "other"]);
    expect(withoutHopByHop(headers)).toEqual(["Kept", "k", "Content-Length", "3"]);
  });

  it("knows each hop-by-hop name in any spelling, and no other of the same length", () => {
    for (const name of HOP_BY_HOP_HEADERS) {
      expect(isHopByHop(name.toUpperCase())).toBe(true);
      expect(isHopByHop(`${name.slice(0, -1)}_`)).toBe(false);
    }
    expect(isHopByHop("x".repeat(39))).toBe(false);
  });

  it("passes only trailers that cannot change framing", () => {
    expect(
      safeTrailers(["Content-Length", "3", "Transfer-Encoding", "chunked", "grpc-status", "0"]),
    ).toEqual(["grpc-status", "0"]);
  });

  it("changes no list in place", () => {
    const frozen = Object.freeze([...LIST]);
    withHeader(frozen, "Host", "b");
    appendHeader(frozen, "Host", "b");
    withoutHopByHop(frozen);
    expect(frozen).toEqual(LIST);
  });
});
