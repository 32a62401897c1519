/**
 * Metric registry of a process that is not on the hot path, and the text of its /metrics page.
 * Hot-path counters are plain typed arrays in their own folders, rendered at scrape time by a
 * collector registered here.
 */
import { Registry, collectDefaultMetrics } from "prom-client";

export interface MetricsPage {
  readonly registry: Registry;
  /** Adds text in the exposition format at each scrape (for counters kept outside prom-client). */
  addCollector(collect: () => string): void;
  render(): Promise<string>;
  readonly contentType: string;
}

export function createMetricsPage(): MetricsPage {
  const registry = new Registry();
  const collectors: (() => string)[] = [];
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    contentType: registry.contentType,
    addCollector: (collect) => void collectors.push(collect),
    render: async () => {
      const own = collectors.map((collect) => collect());
      return [await registry.metrics(), ...own].join("\n");
    },
  };
}
