import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallClock } from "../../../store/call-clock.ts";

const LIMIT_MS = 2_000;

class Call {
  isSettled = false;
  error = "";

  reject(error: Error): void {
    this.isSettled = true;
    this.error = error.message;
  }
}

let clock: CallClock;

beforeEach(() => {
  vi.useFakeTimers();
  clock = new CallClock();
});
afterEach(() => {
  vi.useRealTimers();
});

function begin(): Call {
  const call = new Call();
  clock.begin(call, LIMIT_MS);
  return call;
}

describe("the clock of calls", () => {
  it("ends each call at its own time, those with an answer never", () => {
    const first = begin();
    vi.advanceTimersByTime(300);
    const [second, answered] = [begin(), begin()];
    answered.isSettled = true;
    vi.advanceTimersByTime(1_699);
    expect(first.error).toBe("");
    vi.advanceTimersByTime(2);
    expect(first.error).toBe("Command timed out");
    expect(second.error).toBe("");
    vi.advanceTimersByTime(300);
    expect(second.error).toBe("Command timed out");
    vi.advanceTimersByTime(10_000);
    expect(answered.error).toBe("");
    expect(clock.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("looks after no more calls than are open, and a few that just ended", () => {
    for (let i = 0; i < 10_000; i += 1) begin().isSettled = true;
    expect(clock.size).toBe(1);
    expect(vi.getTimerCount()).toBe(1);
  });

  it("begins again after a quiet time", () => {
    begin().isSettled = true;
    vi.advanceTimersByTime(10_000);
    const late = begin();
    vi.advanceTimersByTime(LIMIT_MS + 1);
    expect(late.error).toBe("Command timed out");
  });
});
