/** CPU and memory of pods in % of what they ask for. */
import { describe, expect, it } from "vitest";
import { parseQuantity } from "../../../common/quantity.ts";
import { createResourceMeter, readProcessGroups } from "../../../local/resource-meter.ts";
import type { GroupUse } from "../../../local/resource-meter.ts";

describe("quantities", () => {
  const rows: [unknown, number | null][] = [
    ["50m", 0.05],
    ["2", 2],
    [1.5, 1.5],
    ["64Mi", 67_108_864],
    ["1G", 1e9],
    ["lots", null],
    ["-1", null],
    [null, null],
  ];
  for (const [text, number] of rows) {
    it(`reads ${String(text)} as ${String(number)}`, () =>
      expect(parseQuantity(text)).toBe(number));
  }
});

describe("the meter", () => {
  const bench = () => {
    let now = 0;
    let groups = new Map<number, GroupUse>();
    const pods = [
      { uid: "a", groupId: 1, cpuCores: 0.5, memoryBytes: 100 },
      { uid: "b", groupId: 2, cpuCores: 0.5, memoryBytes: 100 },
    ];
    const meter = createResourceMeter({
      clock: { now: () => now },
      pods: () => pods,
      readGroups: () => Promise.resolve(groups),
    });
    const read = (metric: "cpu" | "memory", at: number, use: Record<number, GroupUse>) => {
      now = at;
      groups = new Map(Object.entries(use).map(([id, group]) => [Number(id), group]));
      return meter.meanPercent("default/x-00001", metric, 10_000);
    };
    return { read };
  };

  it("knows no cpu from one sample, then the mean over pods and window", async () => {
    const { read } = bench();
    const use = (a: number, b: number) => ({
      1: { cpuMs: a, memoryBytes: 0 },
      2: { cpuMs: b, memoryBytes: 0 },
    });
    expect(await read("cpu", 0, use(0, 0))).toBeNull();
    // 500 ms of 1 s on half a core is 100 %, 0 ms is 0 %.
    expect(await read("cpu", 1_000, use(500, 0))).toBe(50);
    // Out of the window: only what was used since the oldest sample that counts.
    expect(await read("cpu", 10_500, use(500, 0))).toBe(0);
  });

  it("averages memory, and leaves out a pod without a process", async () => {
    const { read } = bench();
    expect(await read("memory", 0, { 1: { cpuMs: 0, memoryBytes: 50 } })).toBe(50);
    expect(await read("memory", 1_000, { 1: { cpuMs: 0, memoryBytes: 100 } })).toBe(75);
  });

  it("reads this very process from the system", async () => {
    const groups = await readProcessGroups();
    const largest = Math.max(...[...groups.values()].map(({ memoryBytes }) => memoryBytes));
    expect(largest).toBeGreaterThan(1_000_000);
  });
});
