/** The sidecar's own answers to activators, plain callers, gRPC and JSON. */
import { expect, it } from "vitest";
import type { RequestHead } from "../../../proxy/types.ts";
import { callerAnswer, reasonAnswer } from "../../../queue-proxy/answers.ts";
import { parseReport } from "../../../queue-proxy/admin-server.ts";

const head = (httpVersion: "1.1" | "2"): RequestHead => ({
  method: "POST",
  target: "/",
  httpVersion,
  headers: [],
  host: "a",
  remoteAddress: "127.0.0.1",
  remotePort: 1,
  upgrade: "",
  expectsContinue: false,
  contentLength: 0,
});

it("keeps stock's texts where stock has some", () => {
  expect(reasonAnswer("queue_full", "x").body).toBe("pending request queue full\n");
  expect(reasonAnswer("response_timeout", "x").body).toBe("request timeout");
  expect(reasonAnswer("draining", "the pod is being stopped")).toMatchObject({
    status: 503,
    body: "the pod is being stopped\n",
  });
});

it("names the reason, and when to come again where that may help", () => {
  const { headers } = reasonAnswer("queue_full", "x");
  expect(headers).toEqual(expect.arrayContaining(["pilotlight-reason", "queue_full"]));
  expect(headers).toEqual(expect.arrayContaining(["Retry-After", "1"]));
  expect(reasonAnswer("upstream_reset", "x").headers).not.toContain("Retry-After");
});

it("speaks gRPC to gRPC callers over HTTP/2 only", () => {
  const marks = { contentType: "application/grpc+proto" };
  const say = { reason: "container_exited", message: "it is gone" } as const;
  const answer = callerAnswer(head("2"), marks, say);
  expect(answer).toMatchObject({ status: 200, body: "" });
  expect(answer.headers).toEqual(expect.arrayContaining(["grpc-status", "14"]));
  expect(callerAnswer(head("1.1"), marks, say).status).toBe(502);
});

it("speaks JSON to callers that ask for it by name", () => {
  const say = { reason: "bad_response", message: "no HTTP" } as const;
  const answer = callerAnswer(head("1.1"), { accept: "application/json" }, say);
  expect(JSON.parse(answer.body)).toEqual(say);
  expect(answer.headers.filter((h) => h.toLowerCase() === "content-type")).toHaveLength(1);
  expect(callerAnswer(head("1.1"), { accept: "*/*" }, say).body).toBe("no HTTP\n");
});

it.each([
  ['{"state":"loading","running":2}', { state: "loading", running: 2 }],
  ['{"running":0}', { running: 0 }],
  ["{}", {}],
])("takes the container's report %s", (body, expected) => {
  expect(parseReport(body)).toEqual(expected);
});
