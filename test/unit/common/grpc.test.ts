/** What of gRPC both hops know: media types, deadlines on the wire, messages. */
import { describe, expect, it } from "vitest";
import { callerEndsAt, runLimitMs, WaitClock } from "../../../activator/core/deadlines.ts";
import { judgeAttempt, mustIntercept } from "../../../activator/core/retry.ts";
import { encodeGrpcMessage, isGrpc, parseGrpcTimeoutMs } from "../../../common/contracts/grpc.ts";
import { callerAnswer } from "../../../queue-proxy/answers.ts";
import { withCallerDeadline } from "../../../queue-proxy/limits.ts";

describe("a gRPC call", () => {
  it.each([
    "application/grpc",
    "application/grpc+proto",
    "application/grpc-web+proto",
    "Application/GRPC; x=1",
  ])("is told by %s", (type) => expect(isGrpc(type)).toBe(true));
  it.each(["", "application/json", "application/grpcx", "text/plain"])("is not %s", (type) =>
    expect(isGrpc(type)).toBe(false),
  );
});

describe("grpc-timeout", () => {
  it.each([
    ["1H", 3_600_000],
    ["2M", 120_000],
    ["3S", 3_000],
    ["250m", 250],
    ["500000u", 500],
    ["99999999n", 99.999999],
  ])("%s is %d ms", (value, ms) => expect(parseGrpcTimeoutMs(value)).toBeCloseTo(ms, 6));

  it.each(["", "5", "S", "-1S", "1.5S", "123456789S", "1s", "1 S"])("%j is malformed", (value) =>
    expect(parseGrpcTimeoutMs(value)).toBeUndefined(),
  );
});

describe("grpc-message", () => {
  it.each([
    ["no slot 100%", "no slot 100%25"],
    ["caf\u00e9\n", "caf%C3%A9%0A"],
    ["\ud800", "%EF%BF%BD"],
  ])("of %j is %s", (text, encoded) => expect(encodeGrpcMessage(text)).toBe(encoded));
});

describe("a caller's deadline", () => {
  const limits = { queueTimeoutMs: 10_000, activationTimeoutMs: 10_000, timeoutMs: 10_000 };
  const grpc = { contentType: "application/grpc", grpcTimeout: "1S" };

  it("shortens waiting, starting and running at the activator", () => {
    const endsAt = callerEndsAt(grpc, 5_000);
    expect(endsAt).toBe(6_000);
    const clock = new WaitClock(5_000, endsAt);
    expect(clock.remainingMs(limits, 5_200)).toBe(800);
    clock.enter("starting", 5_200);
    expect(clock.remainingMs(limits, 5_400)).toBe(600);
    expect(runLimitMs(10_000, endsAt, 5_500)).toBe(500);
    expect(runLimitMs(0, endsAt, 5_500)).toBe(500);
    expect(runLimitMs(100, endsAt, 5_500)).toBe(100);
    expect(runLimitMs(10_000, endsAt, 7_000)).toBe(1);
  });

  it("is none for other callers, and never lengthens", () => {
    const other = { ...grpc, contentType: "application/json" };
    expect(callerEndsAt(other, 0)).toBe(Number.POSITIVE_INFINITY);
    expect(runLimitMs(10_000, Number.POSITIVE_INFINITY, 0)).toBe(10_000);
    const settings = { timeoutSeconds: 60, responseStartTimeoutSeconds: 0, idleTimeoutSeconds: 0 };
    expect(withCallerDeadline(settings, grpc).timeoutSeconds).toBe(1);
    expect(withCallerDeadline({ ...settings, timeoutSeconds: 0 }, grpc).timeoutSeconds).toBe(1);
    expect(withCallerDeadline(settings, { ...grpc, grpcTimeout: "2M" }).timeoutSeconds).toBe(60);
    expect(withCallerDeadline(settings, other)).toBe(settings);
  });
});

describe("a failure that the sidecar words", () => {
  const request = {
    method: "POST",
    hasIdempotencyKey: false,
    retry: "safe",
    deliveredAttempts: 1,
    replayable: true,
  } as const;

  it("is kept from a gRPC caller, who gets its reason as a status", () => {
    const grpc = { ...request, isGrpc: true };
    expect(mustIntercept(502, "container_exited", request)).toBe(false);
    expect(mustIntercept(502, "container_exited", grpc)).toBe(true);
    expect(mustIntercept(502, "", grpc)).toBe(false);
    const end = { kind: "intercepted", status: 502 } as const;
    const next = { kind: "answer", reason: "container_exited" };
    expect(judgeAttempt(end, "container_exited", grpc).next).toEqual(next);
  });

  it("says when to come again where that helps", () => {
    const head = { ...HEAD, httpVersion: "2" } as const;
    const marks = { contentType: "application/grpc" };
    const full = callerAnswer(head, marks, { reason: "queue_full", message: "full" });
    expect(full.headers).toEqual(expect.arrayContaining(["grpc-status", "14"]));
    expect(full.headers).toEqual(expect.arrayContaining(["grpc-retry-pushback-ms", "1000"]));
    const late = callerAnswer(head, marks, { reason: "response_timeout", message: "late" });
    expect(late.headers).toEqual(expect.arrayContaining(["grpc-status", "4"]));
    expect(late.headers).not.toContain("grpc-retry-pushback-ms");
  });
});

const HEAD = {
  method: "POST",
  target: "/",
  headers: [],
  host: "a",
  remoteAddress: "127.0.0.1",
  remotePort: 1,
  upgrade: "",
  expectsContinue: false,
  contentLength: 0,
};
