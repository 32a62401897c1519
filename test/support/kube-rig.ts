/**
 * The autoscaler of a cluster in this process, wired as its main file does, over a real API server
 * and a real store: several may be started, to take over from each other.
 */
import { randomBytes } from "node:crypto";
import { STOCK_DEFAULTS } from "../../autoscaler/core/settings/defaults.ts";
import type { ClusterDefaults } from "../../autoscaler/core/settings/defaults.ts";
import { createElectedAutoscaler } from "../../autoscaler/elected.ts";
import type { ElectedAutoscaler } from "../../autoscaler/elected.ts";
import { accountAccess } from "../../autoscaler/kubernetes/api-access.ts";
import { createApiClient } from "../../autoscaler/kubernetes/api-client.ts";
import type { ApiCall, ApiClient } from "../../autoscaler/kubernetes/api-client.ts";
import { createCluster } from "../../autoscaler/kubernetes/cluster.ts";
import type { Cluster } from "../../autoscaler/kubernetes/cluster.ts";
import type { WatchTimes } from "../../autoscaler/kubernetes/collection.ts";
import { systemTimers } from "../../autoscaler/timers.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { createRandom } from "../../common/random.ts";
import { systemClock } from "../../foundation/clock.ts";
import { createLogger } from "../../foundation/logger.ts";
import { createStore } from "../../store/store.ts";
import type { StoreHandle } from "../../store/store.ts";
import { acquireRequest, pushReport } from "./routing.ts";
import type { ValkeyServer } from "./valkey.ts";

export interface ControllerOptions {
  readonly apiUrl: string;
  readonly accountFolder: string;
  readonly store: ValkeyServer;
  readonly prefix: string;
  readonly watchTimes?: Partial<WatchTimes>;
  readonly base?: ClusterDefaults;
  /** Before each write; throws to have it fail. */
  readonly beforeWrite?: (call: ApiCall) => void;
  readonly ttlMs?: number;
}

export interface RunningController {
  readonly cluster: Cluster;
  readonly elected: ElectedAutoscaler;
  /** Writes that reached the API server, oldest first. */
  readonly writes: readonly ApiCall[];
  readonly log: readonly string[];
  /** Ends without a word, as by SIGKILL: what is under way goes on at the API server alone. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Fast windows, so that a life to zero takes seconds. */
export const QUICK: ClusterDefaults = {
  ...STOCK_DEFAULTS,
  targetUtilization: 1,
  stableWindowMs: 6_000,
  scaleDownDelayMs: 0,
  allowZeroInitialScale: true,
};

export async function startController(options: ControllerOptions): Promise<RunningController> {
  const { apiUrl, accountFolder, base = QUICK } = options;
  const log: string[] = [];
  const logger = createLogger({
    name: "test",
    level: "info",
    write: (line) => void log.push(line),
  });
  const writes: ApiCall[] = [];
  const plain = createApiClient(accountAccess({ apiUrl, accountFolder, clock: systemClock }));
  let isAlive = true;
  const client: ApiClient = {
    ...plain,
    write: async <T>(call: ApiCall): Promise<T> => {
      if (!isAlive) throw new Error("this process is dead");
      options.beforeWrite?.(call);
      const answer = await plain.write<T>(call);
      writes.push(call);
      return answer;
    },
  };
  const store = createStore({ url: options.store.url, prefix: options.prefix, logger });
  const shared = { clock: systemClock, random: createRandom(7), logger };
  const cluster: Cluster = createCluster({
    ...shared,
    client,
    timers: systemTimers,
    systemNamespace: "knative-serving",
    base,
    mayAct: (key) => elected.leads(key),
    watchTimes: options.watchTimes ?? {},
  });
  const { objects, scale, status, entrance, defaults, resourceUse: metricsSource } = cluster;
  const elected: ElectedAutoscaler = createElectedAutoscaler({
    ...shared,
    ...store,
    objects,
    scale,
    status,
    entrance,
    metricsSource,
    holder: `test.${randomBytes(4).toString("hex")}`,
    defaults: defaults.current,
    ttlMs: options.ttlMs ?? 2_000,
    events: cluster.notes,
    onLead: () => cluster.resync(),
  });
  defaults.onChange((next) => elected.useDefaults(next));
  cluster.start();
  await cluster.ready();
  elected.start();
  const close = async (): Promise<void> => {
    await cluster.stop();
    plain.close();
    await store.close();
  };
  return {
    cluster,
    elected,
    writes,
    log,
    kill: async () => {
      isAlive = false;
      // Its store connection is cut first, so the lease is not given up but runs out.
      await store.close();
      await elected.stop().catch(() => undefined);
      await cluster.stop();
      plain.close();
    },
    stop: async () => {
      await elected.stop();
      await close();
    },
  };
}

/** An activator and its sidecars, as far as the autoscaler can tell. */
export class Demand {
  readonly handle: StoreHandle;
  #requests = 0;
  #held: { readonly revision: RevisionKey; readonly leaseId: string }[] = [];

  constructor(store: ValkeyServer, prefix: string) {
    this.handle = createStore({ url: store.url, prefix, activatorId: "act-1" });
  }

  /** A request that waits or runs; answers its id. */
  async ask(revision: RevisionKey): Promise<string> {
    this.#requests += 1;
    const leaseId = `r-${process.pid}-${this.#requests}`;
    await this.handle.store.renewActivator(revision, "act-1").catch(() => undefined);
    await this.handle.store.acquireLease(acquireRequest(leaseId, { revision }));
    this.#held.push({ revision, leaseId });
    return leaseId;
  }

  /** Keeps what is held alive, as each activator does every second. */
  async renew(): Promise<void> {
    const revisions = new Set(this.#held.map(({ revision }) => revision));
    for (const revision of revisions) await this.handle.store.renewActivator(revision, "act-1");
  }

  /** All callers leave. */
  async leave(): Promise<void> {
    for (const { revision, leaseId } of this.#held.splice(0)) {
      await this.handle.store.cancelTicket(revision, leaseId).catch(() => false);
      await this.handle.store
        .releaseLease({ revision, leaseId, outcome: "done", status: 200, serviceMs: 1 })
        .catch(() => undefined);
    }
  }

  async push(revision: RevisionKey, podUid: string, podName: string): Promise<void> {
    const report = pushReport(podUid, { revision, podName, sequence: Date.now() });
    await this.handle.store.reportReadiness(report, { card: "default", marks: {} });
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
