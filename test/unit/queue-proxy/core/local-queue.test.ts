/** The order inside one pod: two classes, static keys, every eighth turn for the late ones. */
import { describe, expect, it } from "vitest";
import { LocalQueue, parseOrder, UNORDERED } from "../../../../queue-proxy/core/local-queue.ts";

describe("parseOrder", () => {
  it.each([
    ["0;1764541234567;42", { class: 0, keyMs: 1_764_541_234_567, sequence: 42 }],
    ["1;-250;7", { class: 1, keyMs: -250, sequence: 7 }],
    [undefined, UNORDERED],
    ["2;1;1", UNORDERED],
    ["0;1;1;1", UNORDERED],
    ["0;NaN;1", UNORDERED],
  ])("reads %s", (text, expected) => {
    expect(parseOrder(text)).toEqual(expected);
  });
});

function drain(queue: LocalQueue<string>): string[] {
  const result: string[] = [];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) result.push(next);
  return result;
}

it("serves by key, then sequence, then arrival", () => {
  const queue = new LocalQueue<string>();
  queue.push({ class: 0, keyMs: 20, sequence: 1 }, "b");
  queue.push({ class: 0, keyMs: 10, sequence: 9 }, "a2");
  queue.push(UNORDERED, "last");
  queue.push({ class: 0, keyMs: 10, sequence: 3 }, "a1");
  queue.push({ class: 0, keyMs: 20, sequence: 1 }, "b again");
  expect(drain(queue)).toEqual(["a1", "a2", "b", "b again", "last"]);
});

it("gives class 1 every eighth admission while class 0 waits", () => {
  const queue = new LocalQueue<string>();
  for (let i = 0; i < 16; i += 1) queue.push({ class: 0, keyMs: i, sequence: i }, `u${i}`);
  for (let i = 0; i < 3; i += 1) queue.push({ class: 1, keyMs: i, sequence: i }, `l${i}`);
  const served = drain(queue);
  expect([served[7], served[15], served[18]]).toEqual(["l0", "l1", "l2"]);
  expect(served.slice(0, 7)).toEqual(["u0", "u1", "u2", "u3", "u4", "u5", "u6"]);
});

it("forgets what was removed", () => {
  const queue = new LocalQueue<string>();
  queue.push(UNORDERED, "a");
  queue.push({ class: 1, keyMs: 0, sequence: 0 }, "b");
  expect(queue.remove("b")).toBe(true);
  expect(queue.remove("b")).toBe(false);
  expect(queue.size).toBe(1);
});
