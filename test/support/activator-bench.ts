/**
 * Real activators over a real Valkey and stub pods, in a run folder of their own: what the
 * integration tests of the activator stand on.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PodRecord, RouteTable } from "../../common/contracts/local-run.ts";
import type { RevisionConfig, RevisionKey } from "../../common/contracts/routing.ts";
import { createActivator } from "../../activator/activator.ts";
import type { ActivatorOptions, Listening } from "../../activator/activator.ts";
import { readCellConfig } from "../../activator/cell-config.ts";
import { ActivatorCells } from "../../activator/cells.ts";
import { readActivatorConfig } from "../../activator/config.ts";
import { nameByRoute } from "../../activator/core/name-revision.ts";
import { openObserving } from "../../activator/open-observing.ts";
import { createLocalIdentity } from "../../activator/local-identity.ts";
import { RouteFile } from "../../activator/route-table.ts";
import { createRandom } from "../../common/random.ts";
import { systemClock } from "../../foundation/clock.ts";
import { createLogger } from "../../foundation/logger.ts";
import type { Logger } from "../../foundation/logger.ts";
import { createRunStore } from "../../store/run-calls.ts";
import { createStore } from "../../store/store.ts";
import type { StoreHandle } from "../../store/store.ts";
import { StubPod } from "./activator-stub-pod.ts";

export const SECRET = "a-secret-of-this-run";
export const HOST = "echo.default.localhost";
export const REVISION: RevisionKey = "default/echo-00001";

export function revisionConfig(changes: Partial<RevisionConfig> = {}): RevisionConfig {
  return {
    namespace: "default",
    service: "echo",
    revision: "echo-00001",
    containerConcurrency: 1,
    policy: "first-available",
    queueDepth: 100,
    queueTimeoutMs: 20_000,
    activationTimeoutMs: 20_000,
    responseStartTimeoutMs: 0,
    idleTimeoutMs: 0,
    timeoutMs: 20_000,
    retry: "safe",
    quarantinePeriodMs: 200,
    quarantineMaxMs: 60_000,
    quarantineAction: "replace",
    flapThreshold: 3,
    scaleUpDelayMs: 1_000,
    queueOrder: "fifo",
    starvationLimitMs: 60_000,
    localQueue: 0,
    protocol: "http1",
    failure: null,
    waitingFor: "",
    startTimeMs: 0,
    ...changes,
  };
}

export type Naming = Pick<ActivatorOptions, "identity" | "nameRevision" | "isRouted">;

export interface BenchActivator extends Listening {
  drain(): Promise<void>;
}

export class ActivatorBench {
  readonly folder = mkdtempSync(join(tmpdir(), "pilotlight-activator-"));
  readonly handle: StoreHandle;
  readonly #url: string;
  readonly #prefix: string;
  readonly #undo: (() => Promise<void> | void)[] = [];
  #pods = 0;

  constructor(url: string, prefix: string) {
    this.#url = url;
    this.#prefix = prefix;
    mkdirSync(join(this.folder, "pods"));
    writeFileSync(join(this.folder, "secret"), SECRET);
    this.writeRoutes({
      generation: 1,
      routes: [
        {
          host: HOST,
          namespace: "default",
          service: "echo",
          targets: [{ revision: "echo-00001", percent: 100 }],
        },
      ],
    });
    this.handle = createStore({ url, prefix });
  }

  get prefix(): string {
    return this.#prefix;
  }

  get store(): StoreHandle["store"] {
    return this.handle.store;
  }

  get environment(): Readonly<Record<string, string>> {
    return {
      PILOTLIGHT_STORE_URL: this.#url,
      PILOTLIGHT_STORE_PREFIX: this.#prefix,
      PILOTLIGHT_RUN_FOLDER: this.folder,
      PILOTLIGHT_LOG_LEVEL: "error",
    };
  }

  writeRoutes(table: RouteTable): void {
    const path = join(this.folder, "routes.json");
    writeFileSync(`${path}.new`, JSON.stringify(table));
    renameSync(`${path}.new`, path);
  }

  async configure(changes: Partial<RevisionConfig> = {}): Promise<void> {
    await this.store.configureRevision(revisionConfig(changes));
  }

  /** `naming` in place of the run's secret, records and routes: how a cluster knows its pods. */
  async activator(
    env: Readonly<Record<string, string>> = {},
    naming: Partial<Naming> = {},
  ): Promise<BenchActivator> {
    const config = readActivatorConfig({ ...this.environment, ...env });
    const logger = createLogger({ name: "activator", level: config.logLevel });
    const { storeUrl: url, storePrefix: prefix, activatorId } = config;
    const handle = createStore({ url, prefix, activatorId });
    const runStore = createRunStore({ url, prefix, replicas: 0 });
    const routes = new RouteFile(this.folder, logger);
    routes.start();
    const cells = this.#openCells(handle, env, logger);
    const activator = await createActivator({
      config,
      store: cells?.watch(handle.store) ?? handle.store,
      cells,
      subscriber: handle.subscriber,
      ranking: { workflows: handle.workflows, knowledge: handle.knowledge },
      runStore,
      ...openObserving(config, logger),
      identity: createLocalIdentity(this.folder, SECRET),
      nameRevision: (random) => (named) => nameByRoute(routes.index, named.host, random()),
      isRouted: (revision) => routes.leadsTo(revision),
      ...naming,
      clock: systemClock,
      logger,
    });
    const listening = await activator.open();
    await handle.ready();
    let drained: Promise<void> | undefined;
    const drain = async (): Promise<void> => {
      await activator.drain();
      routes.stop();
      runStore.close();
      await handle.close();
    };
    const drainOnce = (): Promise<void> => (drained ??= drain());
    this.#undo.push(drainOnce);
    return { ...listening, drain: drainOnce };
  }

  #openCells(
    handle: StoreHandle,
    env: Readonly<Record<string, string>>,
    logger: Logger,
  ): ActivatorCells | undefined {
    const config = readCellConfig({ ...this.environment, ...env });
    if (config.cell === "") return undefined;
    const { store, subscriber, cells: calls } = handle;
    const random = createRandom(this.#pods + 1);
    const activatorId = env["PILOTLIGHT_ACTIVATOR_ID"] ?? "activator";
    return new ActivatorCells({ config, activatorId, store, subscriber, calls, random, logger });
  }

  /** A pod that listens and has its record; it pushes when told to. */
  async pod(
    options: {
      readonly capacity?: number;
      readonly revision?: RevisionKey;
      readonly card?: string;
    } = {},
  ): Promise<StubPod> {
    this.#pods += 1;
    const uid = `pod-${process.pid}-${this.#pods}`;
    const address = `127.0.${10 + (process.pid % 200)}.${this.#pods}`;
    const revision = options.revision ?? REVISION;
    const pod = new StubPod({
      uid,
      address,
      revision,
      secret: SECRET,
      capacity: options.capacity ?? 1,
    });
    await pod.listen();
    const now = systemClock.now();
    this.writePod({
      uid,
      name: `pod-${uid}`,
      namespace: "default",
      service: "echo",
      configuration: "echo",
      revision: revision.split("/")[1] ?? "",
      address,
      card: options.card ?? "default",
      decidedAt: now,
      spawnedAt: now + 1,
    });
    this.#undo.push(() => pod.stop());
    return pod;
  }

  writePod(record: PodRecord): void {
    writeFileSync(join(this.folder, "pods", `${record.uid}.json`), JSON.stringify(record));
  }

  /** Slots that are taken, by the store's count. */
  async busy(): Promise<number> {
    return (await this.store.readFigures(REVISION, { record: false })).busy;
  }

  async waiting(): Promise<number> {
    return (await this.store.readFigures(REVISION, { record: false })).waiting;
  }

  async close(): Promise<void> {
    for (const undo of this.#undo.toReversed()) await undo();
    await this.handle.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface CallOptions {
  readonly host?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** The caller leaves when this fires. */
  readonly signal?: AbortSignal;
}

/** One request over a connection of its own. */
export function call(baseUrl: string, path: string, options: CallOptions = {}): Promise<Reply> {
  const { host = HOST, method = "GET", headers = {}, body, signal } = options;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const outgoing = request(
      `${baseUrl}${path}`,
      {
        method,
        agent: false,
        headers: { host, ...length, ...headers },
        ...(signal === undefined ? {} : { signal }),
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
        });
        response.on("error", reject);
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** The pod that served an answer of the stub. */
export function podOf(reply: Reply): string {
  return (JSON.parse(reply.body) as { pod: string }).pod;
}
