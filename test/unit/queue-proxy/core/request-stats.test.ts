/** Averages for the stock autoscaler, against the numbers of the stock code, and their bytes. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { RequestStats } from "../../../../queue-proxy/core/request-stats.ts";
import { encodeStat } from "../../../../queue-proxy/core/stat-message.ts";

interface GoldenCase {
  readonly id: string;
  readonly name: string;
  readonly events: readonly { readonly t: number; readonly type: string }[] | null;
  readonly reports: readonly {
    readonly t: number;
    readonly averageConcurrency: number;
    readonly averageProxiedConcurrency: number;
    readonly requestCount: number;
    readonly proxiedRequestCount: number;
  }[];
}

const golden = JSON.parse(
  readFileSync(new URL("../../../fixtures/kpa-golden.json", import.meta.url), "utf8"),
) as { readonly requestStats: readonly GoldenCase[] };

describe("RequestStats", () => {
  it.each(golden.requestStats)("$id: $name", ({ events, reports }) => {
    const stats = new RequestStats(0);
    const pending = [...(events ?? [])];
    for (const { t, ...expected } of reports) {
      while (pending[0] !== undefined && pending[0].t <= t) {
        const event = pending.shift();
        const via = event?.type.startsWith("proxied") === true ? "proxied" : "direct";
        if (event?.type.endsWith("in") === true) stats.arrive(event.t, via);
        else if (event !== undefined) stats.depart(event.t, via);
      }
      expect(stats.report(t)).toEqual(expected);
    }
  });

  it("ignores a clock that goes back", () => {
    const stats = new RequestStats(10);
    stats.arrive(10, "direct");
    stats.report(9);
    expect(stats.report(10).averageConcurrency).toBe(1);
  });
});

describe("encodeStat", () => {
  const empty = {
    podName: "",
    averageConcurrentRequests: 0,
    averageProxiedConcurrentRequests: 0,
    requestCount: 0,
    proxiedRequestCount: 0,
    processUptimeSeconds: 0,
  };

  it("leaves out what is zero", () => {
    expect(encodeStat(empty).toString("hex")).toBe("");
    expect(encodeStat({ ...empty, podName: "p" }).toString("hex")).toBe("0a0170");
  });

  it("writes doubles little-endian under their field numbers", () => {
    const bytes = encodeStat({
      podName: "pod",
      averageConcurrentRequests: 1.5,
      averageProxiedConcurrentRequests: 1,
      requestCount: 2,
      proxiedRequestCount: 3,
      processUptimeSeconds: 0.5,
    });
    expect(bytes.toString("hex")).toBe(
      "0a03706f64" +
        "11000000000000f83f" +
        "19000000000000f03f" +
        "210000000000000040" +
        "290000000000000840" +
        "31000000000000e03f",
    );
  });

  it("stays under what the scraper reads, with the longest pod name", () => {
    const stat = { ...empty, podName: "p".repeat(253), averageConcurrentRequests: 1 };
    const full = { ...stat, requestCount: 1, proxiedRequestCount: 1, processUptimeSeconds: 1 };
    expect(encodeStat(full).subarray(0, 3).toString("hex")).toBe("0afd01");
    expect(encodeStat(full).length).toBeLessThanOrEqual(336);
  });
});
