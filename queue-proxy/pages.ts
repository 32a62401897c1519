/** Statistics for the stock autoscaler on 9090 and metrics on 9091; both are rarely asked. */
import { createPageServer, listen } from "./admin-server.ts";
import type { Server } from "./builtins.ts";
import type { Stat } from "./core/stat-message.ts";
import { encodeStat } from "./core/stat-message.ts";
import type { DataPath } from "./data-path.ts";

const STATS_PORT = 9_090;
const METRICS_PORT = 9_091;
/** Stock recomputes once per second and serves the last value in between. */
const REPORT_EVERY_MS = 1_000;

export interface PagesParts {
  readonly path: DataPath;
  readonly host: string;
  readonly boot: () => number;
}

export async function startPages(parts: PagesParts): Promise<Server[]> {
  const { path, host } = parts;
  const stats = createPageServer("application/protobuf", createStatPage(path));
  const metrics = createPageServer("text/plain; version=0.0.4; charset=utf-8", () =>
    path.metrics.render({
      open: path.occupancy.open,
      waiting: path.breaker.waiting,
      occupied: path.pod.occupied(),
      capacity: path.config.containerConcurrency,
      isReady: path.pod.current().state === "ready",
      boot: parts.boot(),
    }),
  );
  await Promise.all([listen(stats, host, STATS_PORT), listen(metrics, host, METRICS_PORT)]);
  return [stats, metrics];
}

function createStatPage(path: DataPath): () => Buffer {
  const { clock, config, stats } = path;
  const startedAt = clock.now();
  let last: Stat = {
    podName: config.podName,
    averageConcurrentRequests: 0,
    averageProxiedConcurrentRequests: 0,
    requestCount: 0,
    proxiedRequestCount: 0,
    processUptimeSeconds: 0,
  };
  setInterval(() => {
    const report = stats.report(clock.now() / 1_000);
    last = {
      podName: config.podName,
      averageConcurrentRequests: report.averageConcurrency,
      averageProxiedConcurrentRequests: report.averageProxiedConcurrency,
      requestCount: report.requestCount,
      proxiedRequestCount: report.proxiedRequestCount,
      processUptimeSeconds: (clock.now() - startedAt) / 1_000,
    };
  }, REPORT_EVERY_MS).unref();
  return () => encodeStat(last);
}
