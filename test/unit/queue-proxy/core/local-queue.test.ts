/** The order inside one pod: the activator's keys, demotion, the late ones' share, and backfill. */
import { describe, expect, it } from "vitest";
import type { CallNote } from "../../../../common/contracts/call-note.ts";
import type { QueuedCall } from "../../../../queue-proxy/core/local-queue.ts";
import { LocalQueue } from "../../../../queue-proxy/core/local-queue.ts";

const NOTE: CallNote = {
  promptTokens: 100,
  serviceUs: 1_000,
  characters: 400,
  messages: 1,
  model: "m",
  stage: "s",
  workflowClass: "c",
};

function call(order?: string, more: Partial<QueuedCall> = {}): QueuedCall {
  return { order, deadline: undefined, tenant: undefined, note: NOTE, ...more };
}

const sized = (promptTokens: number): CallNote => ({ ...NOTE, promptTokens });

function drain(queue: LocalQueue<string>, now = 0): string[] {
  const result: string[] = [];
  for (;;) {
    const next = queue.shift(now, () => true);
    if (next === undefined) return result;
    result.push(next);
  }
}

it("serves by key, then sequence, and what has no order last", () => {
  const queue = new LocalQueue<string>();
  queue.push(call("0;20;1"), "b", 0);
  queue.push(call("0;10;9"), "a2", 0);
  queue.push(call(undefined), "unordered", 0);
  queue.push(call("2;1;1"), "malformed", 0);
  queue.push(call("0;10;3"), "a1", 0);
  queue.push(call("0;-5;4"), "overdue", 0);
  expect(drain(queue)).toEqual(["overdue", "a1", "a2", "b", "unordered", "malformed"]);
});

it("gives class 1 every eighth admission while class 0 waits, shortest rest first", () => {
  const queue = new LocalQueue<string>();
  for (let i = 0; i < 16; i += 1) queue.push(call(`0;${i};${i}`), `u${i}`, 0);
  for (let i = 0; i < 3; i += 1) queue.push(call(`1;${9 - i};${i}`), `l${i}`, 0);
  const served = drain(queue);
  expect([served[7], served[15], served[18]]).toEqual(["l2", "l1", "l0"]);
});

it("demotes a call when half of its rest no longer fits before its deadline", () => {
  const queue = new LocalQueue<string>();
  // Deadline 1000, latest start 600: rest 400, so it can be met until 800.
  queue.push(call("0;600;1", { deadline: "1000" }), "tight", 0);
  queue.push(call("0;5000;2", { deadline: "9000" }), "roomy", 0);
  expect(queue.shift(801, () => true)).toBe("roomy");
  const again = new LocalQueue<string>();
  again.push(call("0;600;1", { deadline: "1000" }), "tight", 0);
  again.push(call("0;5000;2", { deadline: "9000" }), "roomy", 0);
  expect(again.shift(800, () => true)).toBe("tight");
});

it("keeps the lost calls of one tenant behind what another can still meet", () => {
  const queue = new LocalQueue<string>();
  for (let i = 0; i < 9; i += 1) queue.push(call(`0;${i};${i}`, { tenant: "a" }), `a${i}`, 0);
  queue.push(call("1;1;99", { tenant: "b" }), "lost", 0);
  expect(drain(queue).at(-1)).toBe("lost");
});

it("serves first what waited longer than the limit, and hears of a new limit", () => {
  const queue = new LocalQueue<string>();
  queue.push(call("0;900;1"), "old", 0);
  queue.push(call("0;1;2"), "urgent", 1_500);
  expect(queue.shift(2_000, () => true)).toBe("urgent");
  queue.push(call("0;1;3"), "urgent", 1_500);
  queue.setStarvationLimit(1_000);
  expect(queue.shift(2_000, () => true)).toBe("old");
});

describe("a call that does not fit", () => {
  it("lets one behind it pass that fits, and nobody when none does", () => {
    const queue = new LocalQueue<string>();
    queue.push(call("0;1;1", { note: sized(900) }), "long", 0);
    queue.push(call("0;2;2", { note: sized(50) }), "short", 0);
    expect(queue.shift(0, (tokens) => tokens <= 40)).toBeUndefined();
    expect(queue.shift(0, (tokens) => tokens <= 100)).toBe("short");
    expect(queue.shift(0, (tokens) => tokens <= 100)).toBeUndefined();
    expect(queue.shift(0, () => true)).toBe("long");
  });

  it("is passed a bounded number of times", () => {
    const queue = new LocalQueue<string>();
    queue.push(call("0;1;1", { note: sized(900) }), "long", 0);
    let passed = 0;
    for (let i = 0; i < 50; i += 1) {
      queue.push(call(`0;${i + 2};${i + 2}`, { note: sized(1) }), `s${i}`, 0);
      if (queue.shift(0, (tokens) => tokens < 900) !== undefined) passed += 1;
    }
    expect(passed).toBe(16);
  });
});

it("forgets what was removed, and the work that waits with it", () => {
  const queue = new LocalQueue<string>();
  queue.push(call("0;1;1"), "a", 0);
  queue.push(call("1;0;2"), "b", 0);
  expect(queue.workUs).toBe(2_000);
  expect(queue.remove("b")).toBe(true);
  expect(queue.remove("b")).toBe(false);
  expect([queue.size, queue.workUs]).toEqual([1, 1_000]);
  expect(drain(queue)).toEqual(["a"]);
  expect(queue.workUs).toBe(0);
});
