/** What crosses the activator in both directions, header by header. */
import { describe, expect, it } from "vitest";
import { findHeader, readCallerHeaders } from "../../../../activator/core/caller-headers.ts";
import {
  answerHeaders,
  attemptHeaders,
  forwardedHeaders,
} from "../../../../activator/core/forward-headers.ts";
import type { Surroundings } from "../../../../activator/core/forward-headers.ts";
import { INTERNAL_HEADERS } from "../../../../common/contracts/headers.ts";

/** Without the host, which is for `withHost` to fill in. */
function forward(headers: readonly string[], surroundings: Surroundings = "local"): string[] {
  const [name, host, ...forwarded] = forwardedHeaders(headers, {
    surroundings,
    expectsContinue: false,
    caller: readCallerHeaders(headers),
    host: "echo.default.localhost:8080",
    remoteAddress: "::ffff:10.1.2.3",
    requestId: "r1",
  });
  expect([name, host]).toEqual(["host", ""]);
  return forwarded;
}

const ADDED = [
  "x-forwarded-for",
  "10.1.2.3",
  "k-original-host",
  "echo.default.localhost:8080",
  "k-proxy-request",
  "activator",
  "x-request-id",
  "r1",
];

describe("forwardedHeaders", () => {
  it("keeps order, spelling and repetition of what it does not know", () => {
    const sent = ["X-One", "1", "accept", "a/b", "X-One", "2", "Forwarded", "for=x", "ce-id", "7"];
    expect(forward(sent)).toEqual([...sent, ...ADDED]);
  });
  for (const name of INTERNAL_HEADERS) {
    it(`removes ${name} from callers`, () => {
      expect(forward([name.toUpperCase(), "forged"])).toEqual(ADDED);
      expect(forward([name, "forged"], "cluster")).toEqual(ADDED);
    });
  }
  it("removes hop-by-hop headers and those that Connection names", () => {
    const sent = [
      "Connection",
      "keep-alive, X-Hop",
      "X-Hop",
      "1",
      "TE",
      "trailers",
      "Upgrade",
      "x",
      "X-End",
      "2",
    ];
    expect(forward(sent)).toEqual(["X-End", "2", ...ADDED]);
  });
  it("adds the peer to those that forwarded before", () => {
    const list = forward(["X-Forwarded-For", "1.1.1.1", "x-forwarded-for", "2.2.2.2"]);
    expect(findHeader(list, "x-forwarded-for")).toBe("1.1.1.1, 2.2.2.2, 10.1.2.3");
  });
  it("believes the ingress of a cluster, and no caller of local mode", () => {
    const sent = [
      "K-Original-Host",
      "named.example",
      "Knative-Serving-Tag",
      "t",
      "K-Passthrough-Lb",
      "true",
    ];
    const cluster = forward(sent, "cluster");
    expect(findHeader(cluster, "k-original-host")).toBe("named.example");
    expect(findHeader(cluster, "knative-serving-tag")).toBe("t");
    expect(forward(sent, "local")).toEqual(ADDED);
  });
  it("never passes the names of a revision on", () => {
    const sent = ["Knative-Serving-Namespace", "n", "Knative-Serving-Revision", "r"];
    expect(forward(sent, "cluster")).toEqual(ADDED);
  });
});

describe("attemptHeaders", () => {
  it("names the pod and the lease", () => {
    const lease = { leaseId: "l1", targetUid: "u1", address: "10.0.0.1:8012" };
    expect(attemptHeaders(["host", "", "a", "b"], lease)).toEqual([
      "host",
      "10.0.0.1:8012",
      "a",
      "b",
      "pilotlight-target-uid",
      "u1",
      "pilotlight-lease",
      "l1",
    ]);
  });
});

describe("answerHeaders", () => {
  it("keeps the answer and adds ours", () => {
    const pod = [
      "Content-Type",
      "a/b",
      "Connection",
      "X-Hop",
      "X-Hop",
      "1",
      "Set-Cookie",
      "a",
      "Set-Cookie",
      "b",
    ];
    expect(answerHeaders(pod, ["x-request-id", "r1"])).toEqual([
      "Content-Type",
      "a/b",
      "Set-Cookie",
      "a",
      "Set-Cookie",
      "b",
      "x-request-id",
      "r1",
    ]);
  });
  it("leaves a request id of the container's own alone", () => {
    const list = answerHeaders(["X-Request-Id", "theirs"], ["x-request-id", "r1", "b", "c"]);
    expect(list).toEqual(["X-Request-Id", "theirs", "b", "c"]);
  });
});
