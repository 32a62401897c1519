import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Heartbeats } from "../../../activator/heartbeats.ts";
import { RevisionEntry } from "../../../activator/revision-entry.ts";
import { createLogger } from "../../../foundation/logger.ts";
import type { Heartbeat, RoutingStore } from "../../../store/types.ts";

let written: string[][];
let heartbeats: Heartbeats;
const entry = new RevisionEntry("default/echo-00001", 0);

beforeEach(() => {
  vi.useFakeTimers();
  written = [];
  const calls: Partial<RoutingStore> = {
    reportHeartbeats: (_revision, beats) => {
      written.push(beats.map(nameOf));
      return Promise.resolve([]);
    },
  };
  heartbeats = new Heartbeats({
    // It calls nothing else.
    store: calls as RoutingStore,
    logger: createLogger({ name: "test", level: "error" }),
    mustReport: () => undefined,
  });
  heartbeats.start();
});

afterEach(() => {
  heartbeats.stop();
  vi.useRealTimers();
});

const nameOf = ({ podUid, sequence }: Heartbeat): string => `${podUid}:${sequence}`;

function add(podUid: string, sequence = 1): void {
  heartbeats.add(entry, { podUid, boot: 1, sequence });
}

describe("heartbeats on their way to the store", () => {
  it("wait for a second, the newest of each pod", async () => {
    add("a", 1);
    add("b", 1);
    add("a", 2);
    await vi.advanceTimersByTimeAsync(999);
    expect(written).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(written).toEqual([["a:2", "b:1"]]);
  });

  it("leave at once when they fill a call, so that a large fleet makes no block", async () => {
    for (let pod = 0; pod < 100; pod += 1) add(`pod-${pod}`);
    expect(written.map((beats) => beats.length)).toEqual(Array(6).fill(16));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(written.map((beats) => beats.length)).toEqual([...Array(6).fill(16), 4]);
    expect(new Set(written.flat()).size).toBe(100);
    expect(heartbeats.size).toBe(0);
  });
});
