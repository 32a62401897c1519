/**
 * The stage of the proof: one store, one activator process, one queue-proxy process per service, and
 * containers in this process, so that a row can look at what reached them.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RevisionConfig } from "../../common/contracts/routing.ts";
import { systemClock } from "../../foundation/clock.ts";
import { ActivatorBench, revisionConfig, SECRET } from "../support/activator-bench.ts";
import { signToken } from "../support/activator-stub-pod.ts";
import { eventually } from "../support/eventually.ts";
import { startSidecar } from "../support/queue-proxy-process.ts";
import type { SidecarProcess } from "../support/queue-proxy-process.ts";
import { startValkey } from "../support/valkey.ts";
import type { ValkeyServer } from "../support/valkey.ts";
import { H2cContainer } from "./containers/h2c.ts";
import { Http1Container } from "./containers/http1.ts";
import type { PathName, Place, ServiceName, Target } from "./row.ts";

const MAIN = fileURLToPath(new URL("../../activator/main.ts", import.meta.url));

/** Of `limits`: short enough for a proof, long enough for a busy machine. */
export const LIMITS = { startMs: 1_000, idleMs: 2_000, totalMs: 6_000 } as const;
/** How long a request for `zero` waits for a pod that never comes. */
export const ACTIVATION_LIMIT_MS = 1_500;

interface ServicePlan {
  readonly config: Partial<RevisionConfig>;
  readonly env: Readonly<Record<string, string>>;
  readonly container: "http1" | "h2c";
  /** Pods that stand from the start. */
  readonly pods: 0 | 1;
}

const SECONDS = (ms: number): string => String(ms / 1_000);

const PLANS: Readonly<Record<ServiceName, ServicePlan>> = {
  web: { config: {}, env: {}, container: "http1", pods: 1 },
  limits: {
    config: {
      responseStartTimeoutMs: LIMITS.startMs,
      idleTimeoutMs: LIMITS.idleMs,
      timeoutMs: LIMITS.totalMs,
    },
    env: {
      REVISION_RESPONSE_START_TIMEOUT_SECONDS: SECONDS(LIMITS.startMs),
      REVISION_IDLE_TIMEOUT_SECONDS: SECONDS(LIMITS.idleMs),
      REVISION_TIMEOUT_SECONDS: SECONDS(LIMITS.totalMs),
    },
    container: "http1",
    pods: 1,
  },
  grpc: {
    config: { protocol: "h2c" },
    env: { QUEUE_SERVING_PORT: "8013" },
    container: "h2c",
    pods: 1,
  },
  zero: {
    config: { activationTimeoutMs: ACTIVATION_LIMIT_MS },
    env: {},
    container: "http1",
    pods: 0,
  },
  late: { config: {}, env: {}, container: "http1", pods: 0 },
};

export const SERVICES = Object.keys(PLANS) as readonly ServiceName[];

export class Stage {
  readonly web: Http1Container;
  readonly grpc: H2cContainer;
  readonly #valkey: ValkeyServer;
  readonly #bench: ActivatorBench;
  readonly #sidecars = new Map<ServiceName, SidecarProcess>();
  #activator: ChildProcess | undefined;
  #dataUrl = new URL("http://127.0.0.1");
  #push = "";

  private constructor(valkey: ValkeyServer, containers: [Http1Container, H2cContainer]) {
    this.#valkey = valkey;
    [this.web, this.grpc] = containers;
    this.#bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  }

  static async open(): Promise<Stage> {
    const containers = [await Http1Container.start(), await H2cContainer.start()] as const;
    const stage = new Stage(await startValkey(), [...containers]);
    await stage.#configure();
    await stage.#startActivator();
    const ready = SERVICES.filter((name) => PLANS[name].pods > 0);
    await Promise.all(ready.map((name) => stage.startPod(name)));
    return stage;
  }

  place(path: PathName): Place {
    return { path, stage: this, at: (service) => this.#target(path, service) };
  }

  /** Resident bytes of the processes on a path. */
  residentBytes(path: PathName, service: ServiceName): number {
    const pids = [this.#sidecars.get(service)?.pid];
    if (path !== "queue-proxy") pids.push(this.#activator?.pid);
    return pids.reduce<number>((sum, pid) => sum + residentBytesOf(pid ?? 0), 0);
  }

  /** Both product processes are those that were started, and run. */
  get isAlive(): boolean {
    const children = [this.#activator, ...[...this.#sidecars.values()].map(({ child }) => child)];
    return children.every((child) => child?.exitCode === null && child.signalCode === null);
  }

  async startPod(service: ServiceName): Promise<void> {
    const { container, env } = PLANS[service];
    const userPort = container === "h2c" ? this.grpc.port : this.web.port;
    const sidecar = await startSidecar({
      userPort,
      env: {
        SERVING_SERVICE: service,
        SERVING_CONFIGURATION: service,
        SERVING_REVISION: `${service}-00001`,
        CONTAINER_CONCURRENCY: "0",
        REVISION_TIMEOUT_SECONDS: "60",
        ...env,
      },
    });
    this.#sidecars.set(service, sidecar);
    const token = await signToken(SECRET, sidecar.uid);
    writeFileSync(join(sidecar.podRoot, "var/run/secrets/tokens/pilotlight"), token);
    this.#bench.writePod(podRecord(service, sidecar));
    sidecar.setActivators([this.#push]);
    await eventually(() => this.#isReady(service), { timeoutMs: 20_000, what: `${service} ready` });
  }

  async close(): Promise<void> {
    for (const sidecar of this.#sidecars.values()) await sidecar.stop();
    this.#activator?.kill("SIGKILL");
    await this.#bench.close();
    await this.#valkey.stop();
    await Promise.all([this.web.stop(), this.grpc.stop()]);
  }

  async #isReady(service: ServiceName): Promise<boolean> {
    const figures = await this.#bench.store.readFigures(`default/${service}-00001`, {
      record: false,
    });
    return figures.targetsByState.ready > 0;
  }

  async #configure(): Promise<void> {
    this.#bench.writeRoutes({
      generation: 1,
      routes: SERVICES.map((service) => ({
        host: hostOf(service),
        namespace: "default",
        service,
        targets: [{ revision: `${service}-00001`, percent: 100 }],
      })),
    });
    for (const service of SERVICES) {
      await this.#bench.store.configureRevision(
        revisionConfig({
          service,
          revision: `${service}-00001`,
          containerConcurrency: 0,
          timeoutMs: 60_000,
          ...PLANS[service].config,
        }),
      );
    }
  }

  async #startActivator(): Promise<void> {
    const child = spawn(process.execPath, [MAIN], {
      env: { ...process.env, ...this.#bench.environment },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#activator = child;
    const message = await new Promise<{ dataUrl: string; push: string }>((resolve, reject) => {
      // The activator's own announcement, whose form its process test checks.
      child.once("message", (said) => resolve(said as { dataUrl: string; push: string }));
      child.once("exit", (code) => reject(new Error(`The activator ended with ${code}`)));
    });
    this.#dataUrl = new URL(message.dataUrl);
    this.#push = message.push;
  }

  #target(path: PathName, service: ServiceName): Target {
    const authority = hostOf(service);
    if (path === "activator+queue-proxy") {
      return { host: this.#dataUrl.hostname, port: Number(this.#dataUrl.port), authority };
    }
    const sidecar = this.#sidecars.get(service);
    if (sidecar === undefined) throw new Error(`The service ${service} has no pod`);
    return {
      host: sidecar.ip,
      port: PLANS[service].container === "h2c" ? 8_013 : 8_012,
      authority,
    };
  }
}

function hostOf(service: ServiceName): string {
  return `${service}.default.localhost`;
}

function podRecord(
  service: ServiceName,
  sidecar: SidecarProcess,
): Parameters<ActivatorBench["writePod"]>[0] {
  const now = systemClock.now();
  return {
    uid: sidecar.uid,
    name: "echo-00001-deployment-abc",
    namespace: "default",
    service,
    configuration: service,
    revision: `${service}-00001`,
    address: sidecar.ip,
    card: "default",
    decidedAt: now,
    spawnedAt: now + 1,
  };
}

function residentBytesOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1] ?? 0) * 1_024;
}
