/** Statistics for the stock autoscaler on 9090 and metrics on 9091; both are rarely asked. */
import type { Server } from "node:http";
import { createPageServer, listen } from "./admin-server.ts";
import type { Stat } from "./core/stat-message.ts";
import { encodeStat } from "./core/stat-message.ts";
import type { DataPath } from "./data-path.ts";

const STATS_PORT = 9_090;
/** Stock recomputes once per second and serves the last value in between. */
const REPORT_EVERY_MS = 1_000;

export interface PagesParts {
  readonly path: DataPath;
  readonly host: string | undefined;
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
  await listen(stats, host, STATS_PORT);
  const wanted = path.config.observability.metricsListen;
  if (wanted === undefined) return [stats];
  const where = metricsAddress(wanted, host);
  await listen(metrics, where.host, where.port);
  return [stats, metrics];
}

/** All interfaces means those of the pod, which in local mode is one loopback address. */
function metricsAddress(
  wanted: string,
  podHost: string | undefined,
): { host: string | undefined; port: number } {
  const colon = wanted.lastIndexOf(":");
  const host = wanted.slice(0, Math.max(0, colon)).replace(/^\[|\]$/g, "");
  const port = Number(wanted.slice(colon + 1));
  return { host: host === "" || host === "0.0.0.0" ? podHost : host, port };
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
