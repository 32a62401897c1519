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
import { PACE } from "./pace.ts";
import { H2cContainer } from "./containers/h2c.ts";
import { Http1Container } from "./containers/http1.ts";
import { h2, http, PATIENT } from "./clients.ts";
import { PATHS } from "./row.ts";
import type { PathName, Place, ServiceName, Target } from "./row.ts";

const MAIN = fileURLToPath(new URL("../../activator/main.ts", import.meta.url));

/** Of `limits`: short enough for a proof, long enough for a busy machine. */
export const LIMITS = { startMs: 2_000, idleMs: 3_000, totalMs: 8_000 } as const;
/** By how much a busy machine may be late; no row is about less. */
export const LATENESS_MS = 4_000;
/** How long a request for `zero` waits for a pod that never comes. */
export const ACTIVATION_LIMIT_MS = 1_500;

interface ServicePlan {
  readonly config: Partial<RevisionConfig>;
  readonly env: Readonly<Record<string, string>>;
  readonly container: "http1" | "h2c" | "loading";
  /** Pods that stand from the start. */
  readonly pods: 0 | 1;
}

const SECONDS = (ms: number): string => String(ms / 1_000);

const PLANS: Readonly<Record<ServiceName, ServicePlan>> = {
  web: {
    config: { timeoutMs: 600_000 },
    env: { REVISION_TIMEOUT_SECONDS: "600" },
    container: "http1",
    pods: 1,
  },
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
  sockets: {
    config: { responseStartTimeoutMs: PACE.startLimitMs, timeoutMs: 3_600_000 },
    env: {
      REVISION_RESPONSE_START_TIMEOUT_SECONDS: SECONDS(PACE.startLimitMs),
      REVISION_TIMEOUT_SECONDS: "3600",
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
  empty: { config: {}, env: {}, container: "http1", pods: 0 },
  // Longer than it loads, in both forms of the proof.
  loading: {
    config: { activationTimeoutMs: 120_000 },
    env: {},
    container: "loading",
    pods: 0,
  },
  late: { config: {}, env: {}, container: "http1", pods: 0 },
  // The limits of a service that says nothing.
  cold: {
    config: { activationTimeoutMs: 600_000, responseStartTimeoutMs: 300_000, timeoutMs: 300_000 },
    env: {},
    container: "http1",
    pods: 0,
  },
};

export const SERVICES = Object.keys(PLANS) as readonly ServiceName[];

export class Stage {
  readonly web: Http1Container;
  readonly grpc: H2cContainer;
  /** Of `loading`: listens at once, and is told when it may be ready. */
  readonly loading: Http1Container;
  readonly #valkey: ValkeyServer;
  readonly #bench: ActivatorBench;
  readonly #sidecars = new Map<ServiceName, SidecarProcess>();
  /** Of services whose container a row starts itself. */
  readonly #ownPorts = new Map<ServiceName, number>();
  #activator: ChildProcess | undefined;
  #dataUrl = new URL("http://127.0.0.1");
  #push = "";

  private constructor(
    valkey: ValkeyServer,
    containers: [Http1Container, H2cContainer, Http1Container],
  ) {
    this.#valkey = valkey;
    [this.web, this.grpc, this.loading] = containers;
    this.#bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  }

  static async open(): Promise<Stage> {
    const containers = [
      await Http1Container.start(),
      await H2cContainer.start(),
      await Http1Container.start(),
    ] as const;
    const stage = new Stage(await startValkey(), [...containers]);
    await stage.#configure();
    await stage.#startActivator();
    const ready = SERVICES.filter((name) => PLANS[name].pods > 0);
    await Promise.all(ready.map((name) => stage.startPod(name)));
    await stage.#warmUp(ready);
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

  /** Sources are read and connections made before a row is timed. */
  async #warmUp(services: readonly ServiceName[]): Promise<void> {
    for (const path of PATHS) {
      for (const service of services) {
        const target = this.#target(path, service);
        const call = PLANS[service].container === "h2c" ? h2 : http;
        await eventually(async () => (await call(target, "/echo")).status === 200, PATIENT);
      }
    }
  }

  /** A pod that activators know and lease; ready when it is said to be. */
  async startPod(service: ServiceName): Promise<void> {
    const sidecar = await this.startSidecar(service);
    this.#sidecars.set(service, sidecar);
    const token = await signToken(SECRET, sidecar.uid);
    writeFileSync(join(sidecar.podRoot, "var/run/secrets/tokens/pilotlight"), token);
    this.#bench.writePod(podRecord(service, sidecar));
    sidecar.setActivators([this.#push]);
    const what = `${service} ready`;
    await eventually(() => this.#isReady(service), { timeoutMs: 60_000, everyMs: 20, what });
  }

  /** The same in front of a container of the row's own, which may not listen yet. */
  async startPodBefore(service: ServiceName, port: number): Promise<void> {
    this.#ownPorts.set(service, port);
    await this.startPod(service);
  }

  /** Back to zero: the pod is gone, and nobody takes it for a target any more. */
  async stopPod(service: ServiceName): Promise<void> {
    await this.#sidecars.get(service)?.stop();
    this.#sidecars.delete(service);
    const left = async (): Promise<number> =>
      Object.values((await this.#figures(service)).targetsByState).reduce((sum, n) => sum + n, 0);
    const what = `${service} at zero`;
    await eventually(async () => (await left()) === 0, { timeoutMs: 30_000, everyMs: 20, what });
  }

  /** A queue-proxy of its own that no activator knows; its row stops it. */
  startSidecar(service: ServiceName, env: Record<string, string> = {}): Promise<SidecarProcess> {
    const plan = PLANS[service];
    const userPort = this.#ownPorts.get(service) ?? this.#containerOf(service).port;
    const probe = {
      httpGet: { path: "/ready", port: userPort, host: "127.0.0.1", scheme: "HTTP" },
    };
    const readiness =
      plan.container === "loading"
        ? { SERVING_READINESS_PROBE: JSON.stringify({ ...probe, successThreshold: 1 }) }
        : {};
    return startSidecar({
      userPort,
      env: {
        SERVING_SERVICE: service,
        SERVING_CONFIGURATION: service,
        SERVING_REVISION: `${service}-00001`,
        CONTAINER_CONCURRENCY: "0",
        REVISION_TIMEOUT_SECONDS: "60",
        ...readiness,
        ...plan.env,
        ...env,
      },
    });
  }

  /** An activator beside the first, over the same store; its row stops it. */
  async startActivator(): Promise<{ child: ChildProcess; at(service: ServiceName): Target }> {
    const { child, dataUrl } = await this.#spawnActivator();
    const { hostname: host, port } = new URL(dataUrl);
    return {
      child,
      at: (service) => ({ host, port: Number(port), authority: hostOf(service) }),
    };
  }

  /** Requests that wait in the store. */
  async waiting(service: ServiceName): Promise<number> {
    return (await this.#figures(service)).waiting;
  }

  async close(): Promise<void> {
    for (const sidecar of this.#sidecars.values()) await sidecar.stop();
    this.#activator?.kill("SIGKILL");
    await this.#bench.close();
    await this.#valkey.stop();
    await Promise.all([this.web.stop(), this.grpc.stop(), this.loading.stop()]);
  }

  #containerOf(service: ServiceName): { readonly port: number } {
    const { container } = PLANS[service];
    if (container === "h2c") return this.grpc;
    return container === "loading" ? this.loading : this.web;
  }

  async #isReady(service: ServiceName): Promise<boolean> {
    return (await this.#figures(service)).targetsByState.ready > 0;
  }

  #figures(service: ServiceName): ReturnType<ActivatorBench["store"]["readFigures"]> {
    return this.#bench.store.readFigures(`default/${service}-00001`, { record: false });
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
    const { child, dataUrl, push } = await this.#spawnActivator();
    this.#activator = child;
    this.#dataUrl = new URL(dataUrl);
    this.#push = push;
  }

  async #spawnActivator(): Promise<{ child: ChildProcess; dataUrl: string; push: string }> {
    const child = spawn(process.execPath, [MAIN], {
      env: { ...process.env, ...this.#bench.environment },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const said = await new Promise<{ dataUrl: string; push: string }>((resolve, reject) => {
      // The activator's own announcement, whose form its process test checks.
      child.once("message", (message) => resolve(message as { dataUrl: string; push: string }));
      child.once("exit", (code) => reject(new Error(`The activator ended with ${code}`)));
    });
    return { child, ...said };
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
