import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LateTimer, LateTimers } from "../../../proxy/late-timers.ts";
import { createRandom } from "../../../common/random.ts";

let timers: LateTimers;
let startedAt: number;
let rung: { readonly name: string; readonly atMs: number }[];

beforeEach(() => {
  vi.useFakeTimers();
  timers = new LateTimers();
  startedAt = performance.now();
  rung = [];
});

afterEach(() => {
  vi.useRealTimers();
});

function timer(name: string): LateTimer {
  return new LateTimer(() => rung.push({ name, atMs: performance.now() - startedAt }));
}

describe("late timers", () => {
  it.each([1, 300, 749, 750, 751, 1_000, 1_200, 5_000, 300_000])("ring after %i ms, once", (ms) => {
    timers.set(timer("a"), ms);
    vi.advanceTimersByTime(ms - 1);
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(rung).toHaveLength(1);
    vi.advanceTimersByTime(1_000_000);
    expect(rung).toHaveLength(1);
  });

  it("do not ring once they are cleared, near their end or far from it", () => {
    const [far, near] = [timer("far"), timer("near")];
    timers.set(far, 10_000);
    timers.set(near, 10_000);
    timers.clear(far);
    vi.advanceTimersByTime(9_900);
    timers.clear(near);
    vi.advanceTimersByTime(1_000_000);
    expect(rung).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("cost no timer of Node's each while they are far", () => {
    for (let i = 0; i < 1_000; i += 1) timers.set(timer(String(i)), 60_000 + i);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(58_000);
    expect(vi.getTimerCount()).toBe(1);
  });

  it("ring at a nearer end that was set last", () => {
    const again = timer("again");
    timers.set(timer("other"), 100_000);
    timers.set(again, 50_000);
    timers.set(again, 2_000);
    vi.advanceTimersByTime(2_001);
    expect(rung).toMatchObject([{ name: "again" }]);
    timers.set(again, 3_000);
    vi.advanceTimersByTime(3_001);
    expect(rung).toHaveLength(2);
  });

  it("bear more than a timer of Node's can", () => {
    timers.set(timer("a"), 10_000_000_000);
    vi.advanceTimersByTime(2_147_483_000);
    expect(rung).toEqual([]);
  });

  it("ring as Node's would under any order of setting and clearing", () => {
    const random = createRandom(7);
    const due = new Map<string, number>();
    const known = Array.from({ length: 50 }, (_, i) => timer(String(i)));
    for (let step = 0; step < 3_000; step += 1) {
      const index = Math.floor(random() * known.length);
      const chosen = known[index];
      const now = performance.now() - startedAt;
      if (chosen === undefined) continue;
      if (random() < 0.3) {
        timers.clear(chosen);
        due.delete(String(index));
      } else {
        const delayMs = Math.ceil(random() ** 3 * 20_000) + 1;
        timers.set(chosen, delayMs);
        due.set(String(index), now + delayMs);
      }
      vi.advanceTimersByTime(Math.floor(random() * 40));
      for (const { name, atMs } of rung.splice(0)) {
        expect(Math.abs(atMs - (due.get(name) ?? Number.NaN))).toBeLessThanOrEqual(1);
        due.delete(name);
      }
      const late = performance.now() - startedAt - 2;
      expect([...due.values()].filter((at) => at < late)).toEqual([]);
    }
  });
});
