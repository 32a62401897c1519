/** The platform's own answers, what they carry, and the clocks behind their limits. */
import { describe, expect, it } from "vitest";
import { acceptsJson, platformAnswer } from "../../../../activator/core/answers.ts";
import { WaitClock, timeoutReason } from "../../../../activator/core/deadlines.ts";
import { refusalMessage, retryAfterS } from "../../../../activator/core/explain.ts";
import { ownHeaders } from "../../../../activator/core/own-headers.ts";
import { RequestTimer } from "../../../../activator/core/request-timer.ts";
import { serverTiming } from "../../../../activator/core/server-timing.ts";
import type { WireReasonName } from "../../../../common/contracts/wire-reasons.ts";
import { WIRE_REASONS } from "../../../../common/contracts/wire-reasons.ts";

const context = {
  reason: "queue_full" as WireReasonName,
  message: "",
  requestId: "r1",
  accept: "*/*",
  contentType: "",
  retryAfterS: 3,
  headers: ["x-request-id", "r1"],
};

const headerOf = (headers: readonly string[], name: string): string | undefined =>
  headers[headers.indexOf(name) + 1];

describe("platformAnswer", () => {
  for (const reason of Object.keys(WIRE_REASONS) as WireReasonName[]) {
    it(`${reason} has its status, its reason, a line of text, and a hint where it may be repeated`, () => {
      const answer = platformAnswer({ ...context, reason });
      expect(answer.status).toBe(WIRE_REASONS[reason].status);
      expect(headerOf(answer.headers, "pilotlight-reason")).toBe(reason);
      expect(answer.body.trim()).not.toBe("");
      expect(answer.headers.includes("retry-after")).toBe(WIRE_REASONS[reason].repeatable);
    });
  }
  it("keeps the texts of stock Knative, line ends included", () => {
    expect(platformAnswer(context).body).toBe("pending request queue full\n");
    const late = platformAnswer({ ...context, reason: "response_timeout" });
    expect(late.body).toBe("activator request timeout");
  });
  it("answers in JSON to whoever names it", () => {
    const answer = platformAnswer({ ...context, accept: "text/html, application/json;q=0.9" });
    expect(JSON.parse(answer.body)).toEqual({
      reason: "queue_full",
      message: "pending request queue full",
      request_id: "r1",
    });
  });
  it("does not take a star for JSON", () => {
    expect(acceptsJson("*/*")).toBe(false);
    expect(acceptsJson("application/*")).toBe(false);
  });
  const grpc: readonly [WireReasonName, string, string | undefined][] = [
    ["queue_full", "14", "3000"],
    ["queue_timeout", "4", undefined],
    ["upstream_reset", "14", undefined],
    ["no_such_service", "12", undefined],
  ];
  for (const [reason, status, pushback] of grpc) {
    it(`tells a gRPC caller ${reason} as status ${status}`, () => {
      const answer = platformAnswer({ ...context, reason, contentType: "application/grpc+proto" });
      expect([answer.status, answer.body]).toEqual([200, ""]);
      expect(headerOf(answer.headers, "grpc-status")).toBe(status);
      const given = answer.headers.includes("grpc-retry-pushback-ms")
        ? headerOf(answer.headers, "grpc-retry-pushback-ms")
        : undefined;
      expect(given).toBe(pushback);
    });
  }
});

describe("refusalMessage", () => {
  it("names the cause of a failed start", () => {
    const failure = { reason: "ImagePullBackOff", message: "no such image" };
    const text = refusalMessage({ reason: "activation_failed", failure, waitingFor: "" });
    expect(text).toBe("no pod of this revision can start: ImagePullBackOff: no such image");
  });
  it("names what a first pod waits for", () => {
    const facts = {
      reason: "activation_timeout",
      failure: null,
      waitingFor: "Unschedulable",
    } as const;
    expect(refusalMessage(facts)).toBe(
      "no pod became ready in time: Unschedulable; see the log and the readiness probe of its pods, " +
        "or raise pilotlight.dev/activation-timeout",
    );
  });
});

describe("retryAfterS", () => {
  const rows = [
    [
      "a hint of the store",
      { askedMs: 2_100, cold: false, startTimeMs: 0, medianWaitMs: 9_000 },
      3,
    ],
    ["the median wait", { askedMs: 0, cold: false, startTimeMs: 60_000, medianWaitMs: 1_001 }, 2],
    ["the median start", { askedMs: 0, cold: true, startTimeMs: 60_000, medianWaitMs: 1_001 }, 60],
    ["at least one second", { askedMs: 0, cold: true, startTimeMs: 0, medianWaitMs: 0 }, 1],
  ] as const;
  for (const [name, hint, seconds] of rows) {
    it(`is ${name}`, () => expect(retryAfterS(hint)).toBe(seconds));
  }
});

describe("WaitClock", () => {
  const limits = { queueTimeoutMs: 100, activationTimeoutMs: 1_000, timeoutMs: 5_000 };

  it("counts each phase against its own limit", () => {
    const clock = new WaitClock(0);
    expect(clock.remainingMs(limits, 40)).toBe(60);
    clock.enter("starting", 40);
    expect(clock.remainingMs(limits, 540)).toBe(500);
    clock.enter("waiting", 540);
    expect(clock.remainingMs(limits, 550)).toBe(50);
    expect(clock.spent(550)).toEqual({ waitedMs: 50, startingMs: 500 });
  });
  it("stands still while the request runs, and goes on after a failed attempt", () => {
    const clock = new WaitClock(0);
    clock.stop(30);
    expect(clock.spent(1_000).waitedMs).toBe(30);
    clock.charge(20);
    clock.enter("waiting", 1_000);
    expect(clock.remainingMs(limits, 1_010)).toBe(40);
  });
  it("takes the running limit where the queue has none of its own", () => {
    expect(new WaitClock(0).remainingMs({ ...limits, queueTimeoutMs: 0 }, 0)).toBe(5_000);
  });
  it("names the limit that fires", () => {
    expect([timeoutReason("waiting"), timeoutReason("starting")]).toEqual([
      "queue_timeout",
      "activation_timeout",
    ]);
  });
});

describe("the times of a request", () => {
  it("tell apart route, queue, cold start, connect and upstream", () => {
    const timer = new RequestTimer(1_000);
    timer.waited(20, 300);
    timer.granted(1_325);
    timer.connected(1_326.5);
    timer.responded(1_346.123);
    expect(serverTiming(timer.times())).toBe(
      "route;dur=5, queue;dur=20, coldstart;dur=300, connect;dur=1.5, upstream;dur=19.62",
    );
  });
  it("are zero for what never happened", () => {
    expect(serverTiming(new RequestTimer(5).times())).toBe(
      "route;dur=0, queue;dur=0, coldstart;dur=0, connect;dur=0, upstream;dur=0",
    );
  });
});

describe("ownHeaders", () => {
  const facts = { requestId: "r", cold: true, times: new RequestTimer(0).times(), debug: null };
  it("say whether it was a cold start", () => {
    expect(headerOf(ownHeaders(facts), "pilotlight-cold-start")).toBe("true");
  });
  it("name pod and attempts to whoever asked", () => {
    const debugged = ownHeaders({ ...facts, debug: { pod: "p", attempts: 2 } });
    expect(debugged.slice(-4)).toEqual(["pilotlight-pod", "p", "pilotlight-attempts", "2"]);
  });
});
