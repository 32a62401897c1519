/** What a head says of rank and size, what the store is told of it, and who may name a tenant. */
import { describe, expect, it } from "vitest";
import {
  isModelCall,
  namesOf,
  needsRank,
  readBody,
  readWorkflow,
  routeOf,
} from "../../../../activator/core/call-facts.ts";
import { readCallerHeaders } from "../../../../activator/core/caller-headers.ts";
import { openRequest, sloOf } from "../../../../activator/core/open-request.ts";
import { PrefixMemory } from "../../../../activator/core/prefix-memory.ts";
import { Gateways, parseGateways, parseWeights } from "../../../../activator/core/tenants.ts";
import type { RevisionConfig } from "../../../../common/contracts/routing.ts";
import { revisionConfig } from "../../../support/activator-bench.ts";

const head = (method: string, target: string, headers: readonly string[] = []) => ({
  method,
  target,
  headers,
  contentLength: -1,
});

describe("a call of a model", () => {
  it.each([
    ["POST", "/v1/chat/completions", "application/json", true],
    ["POST", "/openai/v1/completions?x=1", "application/json; charset=utf-8", true],
    ["POST", "/v1/embeddings", "application/vnd.api+json", true],
    ["GET", "/v1/chat/completions", "application/json", false],
    ["POST", "/v1/chat/completions", "text/plain", false],
    ["POST", "/ocr", "application/json", false],
  ])("is %s %s with %s: %s", (method, target, type, expected) => {
    expect(isModelCall(head(method, target), type)).toBe(expected);
  });

  it("is sized by its body, else by its announced length, else not at all", () => {
    const facts = { ...head("POST", "/v1/completions"), contentLength: 400_000 };
    const body = Buffer.from(JSON.stringify({ model: "m", prompt: "12345678" }));
    expect(readBody(facts, "application/json", body)).toMatchObject({ characters: 8, model: "m" });
    expect(readBody(facts, "application/json", null)).toMatchObject({ characters: 400_000 });
    expect(readBody(facts, "application/json", Buffer.from("{"))).toBeUndefined();
    expect(readBody({ ...facts, contentLength: -1 }, "application/json", null)).toBeUndefined();
    expect(readBody(facts, "text/plain", body)).toBeUndefined();
  });

  it("of no workflow is kept under its route, without ids", () => {
    const id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    expect(routeOf(head("GET", `/jobs/42/${id}?a=b`))).toBe("GET /jobs/:id/:id");
    const names = namesOf({ isFinal: false, malformed: [] }, head("GET", "/x"), "request-1");
    expect(names).toMatchObject({ workflow: "", stage: "GET /x", callId: "request-1" });
  });
});

it("costs a plain request nothing, and ranks what says something or whose service ranks", () => {
  const plain = readCallerHeaders(["accept", "*/*"]);
  const workflow = readCallerHeaders(["X-Workflow-Id", "q"]);
  const config = revisionConfig();
  const ranked: Partial<RevisionConfig>[] = [
    { policy: "speed-aware" },
    { queueOrder: "pq" },
    { binding: "early" },
  ];
  expect(needsRank(config, plain)).toBe(false);
  expect(needsRank(config, workflow)).toBe(true);
  for (const changes of ranked) expect(needsRank({ ...config, ...changes }, plain)).toBe(true);
  expect(readWorkflow(head("GET", "/", ["accept", "*/*"]), plain).workflowId).toBeUndefined();
  expect(readWorkflow(head("GET", "/", ["X-Workflow-Id", "q"]), workflow).workflowId).toBe("q");
});

describe("an objective", () => {
  const none = { isFinal: false, malformed: [] };

  it.each([
    ["of the caller", { ...none, sloMs: 1_500 }, { sloUs: 1_500_000, deadlineAt: 0 }],
    ["as an instant", { ...none, deadlineAt: 9_000 }, { sloUs: 0, deadlineAt: 9_000_000 }],
    [
      "by tokens",
      { ...none, firstTokenSloMs: 100, perTokenSloMs: 10 },
      { sloUs: 600_000, deadlineAt: 0 },
    ],
    ["of the service", none, { sloUs: 7_000_000, deadlineAt: 0 }],
  ])("%s", (_name, headers, expected) => {
    expect(sloOf(headers, { sloMs: 7_000 }, 50)).toEqual(expected);
  });
});

it("tells the store the expected stages, and a floor for tenants that share the cards", () => {
  const stage = { calls: 9, inputTokens: 1, outputMedian: 1, outputUpper: 1, expectedUs: 1_000 };
  const facts = {
    workflow: { namespace: "ns", tenant: "acme", id: "q" },
    names: { callId: "c", stage: "revise", stageIndex: 3 },
    remaining: undefined,
    fanout: undefined,
    slo: { sloUs: 5, deadlineAt: 0 },
    estimate: { promptTokens: 1, outputTokens: 1, workUs: new Map(), meanUs: 77 },
    known: {
      template: [
        { stage: "revise", optional: true, probability: 0.5 },
        { stage: "test", optional: false, probability: 1 },
      ],
      stages: { revise: stage },
      workflows: 9,
    },
    declared: [{ name: "test", durationMs: 2 }],
  };
  const request = openRequest(facts);
  expect(request).toMatchObject({ stageUs: 1_000, stageIndex: 3, leastSloUs: 1.2 * 2_500 });
  expect(request.template.map(({ workUs }) => workUs)).toEqual([1_000, 2_000]);
  const stranger = openRequest({
    ...facts,
    workflow: { ...facts.workflow, tenant: "" },
    names: { ...facts.names, stage: "unheard" },
    known: undefined,
  });
  expect(stranger).toMatchObject({ stageUs: 77, leastSloUs: 0 });
  expect(stranger.template).toEqual([
    { stage: "test", optional: false, probability: 1, workUs: 2_000 },
  ]);
});

describe("tenants", () => {
  it("are believed from named networks alone", () => {
    const gateways = new Gateways(parseGateways("10.0.0.0/8, ::1") ?? []);
    expect(gateways.isTrusted("10.2.3.4")).toBe(true);
    expect(gateways.isTrusted("::ffff:10.2.3.4")).toBe(true);
    expect(gateways.isTrusted("::1")).toBe(true);
    expect(gateways.isTrusted("11.0.0.1")).toBe(false);
    expect(gateways.isTrusted("")).toBe(false);
    expect(new Gateways([]).isTrusted("10.0.0.1")).toBe(false);
  });

  it.each(["10.0.0.0/33", "host", "10.0.0.0/8/9", "::1/200"])("refuses the network %s", (text) => {
    expect(parseGateways(text)).toBeUndefined();
  });

  it("have weights within bounds", () => {
    expect([...(parseWeights("acme=3, free=0.5") ?? [])]).toEqual([
      ["acme", 3],
      ["free", 0.5],
    ]);
    for (const text of ["acme", "=1", "acme=0", "acme=1001", "a b=1", "acme=x"]) {
      expect(parseWeights(text)).toBeUndefined();
    }
  });
});

describe("beginnings of prompts", () => {
  it("are found where they were sent last, the longest first, and forgotten in time", () => {
    const memory = new PrefixMemory();
    memory.sent(["a1", "a2"], "pod-1", 0);
    memory.sent(["a1"], "pod-2", 10);
    expect(memory.find(["a1", "a2"], 20)).toEqual([
      { podUid: "pod-1", characters: 2_048 },
      { podUid: "pod-2", characters: 1_024 },
    ]);
    expect(memory.find(["b1"], 20)).toEqual([]);
    expect(memory.find(["a1", "a2"], 600_005)).toEqual([{ podUid: "pod-2", characters: 1_024 }]);
  });

  it("are bounded in number and in pods", () => {
    const memory = new PrefixMemory();
    for (let n = 0; n < 20; n += 1) memory.sent(["same"], `pod-${n}`, n);
    expect(memory.find(["same"], 20)).toHaveLength(8);
    for (let n = 0; n < 5_000; n += 1) memory.sent([`p${n}`], "pod", 30);
    expect(memory.find(["same"], 40)).toEqual([]);
  });
});
