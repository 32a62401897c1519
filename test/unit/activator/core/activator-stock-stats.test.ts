/** What the stock autoscaler is told, against the golden cases of the contract, bytes included. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { encodeStockStats } from "../../../../activator/core/stock-stats-message.ts";
import { StockStats } from "../../../../activator/core/stock-stats.ts";
import type { StockStat } from "../../../../activator/core/stock-stats.ts";

interface GoldenMessage {
  readonly averageConcurrentRequests: number;
  readonly requestCount: number;
  readonly podName: string;
  readonly wireHex: string;
}

interface GoldenStep {
  readonly op: "in" | "out" | "report";
  readonly t: number;
  readonly messages?: readonly GoldenMessage[];
}

interface GoldenCase {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly revision: string;
  readonly steps: readonly GoldenStep[];
}

const golden = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../fixtures/kpa-golden.json"), "utf8"),
) as { readonly activatorStats: readonly GoldenCase[] };

function play(stats: StockStats, revision: `${string}/${string}`, step: GoldenStep): StockStat[] {
  if (step.op === "report") return stats.report(step.t);
  if (step.op === "in") return [stats.arrived(revision, step.t)].filter((stat) => stat !== null);
  stats.left(revision, step.t);
  return [];
}

describe("statistics to the stock autoscaler", () => {
  it("has golden cases", () => expect(golden.activatorStats.length).toBeGreaterThan(2));

  it.each(golden.activatorStats)("$id: $name", ({ namespace, revision, steps }) => {
    const stats = new StockStats();
    for (const step of steps) {
      const sent = play(stats, `${namespace}/${revision}`, step);
      const expected = step.messages ?? [];
      expect(sent).toHaveLength(expected.length);
      for (const [index, message] of expected.entries()) {
        const stat = sent[index];
        if (stat === undefined) throw new Error("unreachable: the lengths are equal");
        expect(stat.averageConcurrency).toBeCloseTo(message.averageConcurrentRequests, 9);
        expect(stat.requestCount).toBe(message.requestCount);
        expect(encodeStockStats([stat], message.podName).toString("hex")).toBe(message.wireHex);
      }
    }
  });

  it("forgets a revision after its zero", () => {
    const stats = new StockStats();
    stats.arrived("a/b", 0);
    stats.left("a/b", 0.5);
    expect(stats.report(1)).toHaveLength(1);
    expect(stats.size).toBe(1);
    expect(stats.report(2)).toEqual([{ revision: "a/b", averageConcurrency: 0, requestCount: 0 }]);
    expect(stats.size).toBe(0);
    expect(stats.report(3)).toEqual([]);
  });
});
