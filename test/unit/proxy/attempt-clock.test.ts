import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AttemptClock } from "../../../proxy/attempt-clock.ts";
import { LateTimers } from "../../../proxy/late-timers.ts";
import type { AttemptLimits } from "../../../proxy/types.ts";

const OFF: AttemptLimits = { connectMs: 0, startMs: 0, idleMs: 0, totalMs: 0 };
let rung: string[];
let timers: LateTimers;

beforeEach(() => {
  vi.useFakeTimers();
  rung = [];
  timers = new LateTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function clockWith(limits: Partial<AttemptLimits>): AttemptClock {
  const clock = new AttemptClock({ ...OFF, ...limits }, timers, (limit) => rung.push(limit));
  clock.start();
  return clock;
}

describe("the clock of an attempt", () => {
  it("rings for connect only until the connection stands", () => {
    clockWith({ connectMs: 300 });
    vi.advanceTimersByTime(301);
    expect(rung).toEqual(["connect"]);
    rung = [];
    const clock = clockWith({ connectMs: 300, startMs: 1_000 });
    vi.advanceTimersByTime(200);
    clock.connected();
    vi.advanceTimersByTime(700);
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(102);
    expect(rung).toEqual(["start"]);
  });

  it("is not timed for a connection that stands already", () => {
    const limits = { ...OFF, connectMs: 300, totalMs: 5_000 };
    const clock = new AttemptClock(limits, timers, (limit) => rung.push(limit));
    clock.connected();
    clock.start();
    vi.advanceTimersByTime(4_999);
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(rung).toEqual(["total"]);
  });

  it("stops the start limit at the response head", () => {
    const clock = clockWith({ startMs: 1_000 });
    clock.connected();
    clock.began();
    vi.advanceTimersByTime(10_000);
    expect(rung).toEqual([]);
  });

  it("counts silence from the last byte", () => {
    const clock = clockWith({ startMs: 50, idleMs: 100 });
    clock.connected();
    clock.began();
    for (let i = 0; i < 10; i += 1) {
      vi.advanceTimersByTime(90);
      clock.active();
    }
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(102);
    expect(rung).toEqual(["idle"]);
  });

  it("counts no silence before the response head", () => {
    const clock = clockWith({ idleMs: 100 });
    clock.connected();
    vi.advanceTimersByTime(10_000);
    expect(rung).toEqual([]);
  });

  it("ends everything at the total", () => {
    const clock = clockWith({ idleMs: 100, totalMs: 250 });
    clock.connected();
    clock.began();
    vi.advanceTimersByTime(90);
    clock.active();
    vi.advanceTimersByTime(90);
    clock.active();
    vi.advanceTimersByTime(72);
    expect(rung).toEqual(["total"]);
  });

  it("keeps no timer when all is off, and none after stop", () => {
    clockWith({});
    expect(vi.getTimerCount()).toBe(0);
    const clock = clockWith({ totalMs: 100 });
    expect(vi.getTimerCount()).toBe(1);
    clock.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("bears a limit longer than a timer can be", () => {
    clockWith({ totalMs: 10_000_000_000 });
    vi.advanceTimersByTime(2_147_483_647 + 10);
    expect(rung).toEqual([]);
    expect(vi.getTimerCount()).toBe(1);
  });
});
