/** Use of cpu and memory from a kubelet's page, as a share of what pods ask for. */
import { describe, expect, it } from "vitest";
import type { ApiClient } from "../../../../autoscaler/kubernetes/api-client.ts";
import type { Pod } from "../../../../autoscaler/kubernetes/objects.ts";
import { parseResourcePage } from "../../../../autoscaler/kubernetes/resource-page.ts";
import { ResourceUse } from "../../../../autoscaler/kubernetes/resource-use.ts";
import { createLogger } from "../../../../foundation/logger.ts";
import { eventually } from "../../../support/eventually.ts";

const page = (cpu: number, at: number): string => `
# HELP container_cpu_usage_seconds_total Cumulative cpu time
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="user-container",namespace="default",pod="p-1"} ${cpu} ${at}
container_cpu_usage_seconds_total{container="queue-proxy",namespace="default",pod="p-1"} 99 ${at}
container_memory_working_set_bytes{container="user-container",namespace="default",pod="p-1"} 3.2e+07 ${at}
container_memory_working_set_bytes{container="queue-proxy",namespace="default",pod="p-1"} 9e+08 ${at}
node_cpu_usage_seconds_total 1234 ${at}
pod_cpu_usage_seconds_total{namespace="default",pod="p-1"} 100 ${at}
container_cpu_usage_seconds_total{container="c",namespace="other",pod="broken"} NaN ${at}
`;

const POD: Pod = {
  metadata: { name: "p-1", namespace: "default", uid: "u" },
  spec: {
    nodeName: "node-a",
    containers: [
      { name: "user-container", resources: { requests: { cpu: "500m", memory: "64Mi" } } },
      { name: "queue-proxy", resources: { requests: { cpu: "25m" } } },
    ],
  },
};

describe("the page of a kubelet", () => {
  it("gives each pod its containers' use but for the sidecar's", () => {
    expect([...parseResourcePage(page(12.5, 1_000), "queue-proxy")]).toEqual([
      ["default/p-1", { cpuSeconds: 12.5, memoryBytes: 32_000_000, at: 1_000 }],
    ]);
    expect(parseResourcePage("<html>not found</html>", "queue-proxy").size).toBe(0);
  });
});

describe("use of resources", () => {
  const open = (
    pods: readonly Pod[],
  ): { use: ResourceUse; clock: { at: number }; asked: string[] } => {
    const clock = { at: 1_000_000, now: () => clock.at };
    const asked: string[] = [];
    let cpu = 10;
    const client = {
      readText: (path: string) => {
        asked.push(path);
        // Half of what the pod asks for, each second.
        cpu += 2.5;
        return Promise.resolve(page(cpu, clock.at));
      },
    };
    const logger = createLogger({ name: "test", level: "silent" });
    // Only texts are read here.
    const options = {
      client: client as unknown as ApiClient,
      readyPods: () => pods,
      clock,
      logger,
    };
    return { use: new ResourceUse(options), clock, asked };
  };

  it("is the mean over the window, in % of the request", async () => {
    const { use, clock, asked } = open([POD]);
    const mean = (metric: "cpu" | "memory"): Promise<number | null> =>
      use.meanPercent("default/r", metric, 30_000);
    expect(await mean("cpu")).toBeNull();
    await eventually(async () => (await mean("memory")) !== null);
    expect(await mean("memory")).toBeCloseTo((32e6 / (64 * 2 ** 20)) * 100);
    clock.at += 10_000;
    await mean("cpu");
    await eventually(async () => (await mean("cpu")) !== null);
    expect(await mean("cpu")).toBeCloseTo(50);
    // One read in ten seconds, whoever asks.
    expect(asked).toEqual(
      Array.from({ length: 2 }, () => "/api/v1/nodes/node-a/proxy/metrics/resource"),
    );
  });

  it("is unknown for a pod that asks for nothing, and without pods", async () => {
    expect(await open([]).use.meanPercent("default/r", "cpu", 30_000)).toBeNull();
    const { use, asked } = open([
      { ...POD, spec: { nodeName: "node-a", containers: [{ name: "c" }] } },
    ]);
    await use.meanPercent("default/r", "memory", 30_000);
    await eventually(() => asked.length === 1);
    expect(await use.meanPercent("default/r", "memory", 30_000)).toBeNull();
  });
});
