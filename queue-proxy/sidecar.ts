/**
 * Builds the sidecar from its parts and owns their life. Apart from `main.ts` so that what reads
 * the environment, the signals and the exit code of the process stays in one screen.
 */
import type { Server } from "node:http";
import type { Clock } from "../common/clock.ts";
import type { Random } from "../common/random.ts";
import type { Logger } from "../foundation/logger.ts";
import type { SocketFront } from "../proxy/front.ts";
import { createDnsDirectory, createFileDirectory } from "./activator-directory.ts";
import { createAdminServer, listen } from "./admin-server.ts";
import type { QueueProxyConfig } from "./config.ts";
import { bindHost } from "./config.ts";
import type { ProbePlan } from "./core/probe-spec.ts";
import { parseProbePlan } from "./core/probe-spec.ts";
import type { DrainDecision } from "./core/drain.ts";
import type { DataPath } from "./data-path.ts";
import { createDataPath } from "./data-path.ts";
import { createDataFront } from "./front.ts";
import { startPages } from "./pages.ts";
import type { PodIdentity } from "./pod-identity.ts";
import { createPodIdentity } from "./pod-identity.ts";
import { beginLife } from "./previous-life.ts";
import { tryProbes } from "./probe.ts";
import { Prober } from "./prober.ts";
import type { PodSnapshot } from "./reporter.ts";
import { Reporter } from "./reporter.ts";
import { createRequestLog } from "./request-log.ts";
import { createHooks } from "./server.ts";
import { openTlsPort, RELOAD_EVERY_MS, type TlsPort } from "./tls.ts";

/** Shown in the dashboard; the image build replaces it by its version. */
const BUILD = "0.1.0";
const ADMIN_PORT = 8_022;
/**
 * What is rarely asked is opened this long after the start, or after the pod became ready if that is
 * sooner: its first request is past by then.
 */
const REST_MS = 100;

export interface SidecarOptions {
  readonly config: QueueProxyConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** When the process ran its first line. */
  readonly sidecarAt: number;
  /** How often the certificate is looked at; once a minute. */
  readonly reloadCertificateMs?: number;
  /** Everything is over; the process may exit. */
  readonly onLeft: () => void;
}

export class Sidecar {
  readonly #options: SidecarOptions;
  readonly #plan: ProbePlan;
  readonly #identity: PodIdentity;
  readonly #path: DataPath;
  readonly #prober: Prober;
  readonly #reporter: Reporter;
  readonly #front: SocketFront;
  #servers: Server[] = [];
  #onReady = (): void => {};
  #tls: TlsPort | undefined;

  constructor(options: SidecarOptions) {
    const { config, clock } = options;
    this.#options = options;
    this.#plan = parseProbePlan(config.readinessProbe, config.userPort);
    const life = beginLife(config.podRoot ?? "/", clock.now());
    this.#identity = createPodIdentity(config.podRoot ?? "/");
    this.#path = createDataPath({
      ...options,
      plan: this.#plan,
      identity: this.#identity,
      isRestart: life.isRestart,
      unreachableSinceAt: () => this.#reporter.unreachableSinceAt,
      onChange: () => {
        this.#reporter.changed();
        this.#noteState();
      },
      onContainerRefused: () => this.#onContainerRefused(),
      onDrainPhase: (phase) => this.#onDrainPhase(phase),
      onLeave: () => void this.#leave(),
      requestLog: createRequestLog(config, (line) => process.stdout.write(line)),
    });
    this.#prober = this.#createProber();
    this.#reporter = this.#createReporter(life.boot);
    this.#front = createDataFront(createHooks(this.#path), config);
  }

  /**
   * Greets an activator, which has to find out whose pod this is, while the port for requests opens;
   * then looks for the container, then opens what is rarely asked.
   */
  async start(): Promise<void> {
    const { config, clock, logger, sidecarAt } = this.#options;
    const host = bindHost(config.podIp);
    this.#reporter.start();
    await this.#front.listen({ host, port: config.servingPort });
    this.#tls = await this.#openTls(host);
    this.#path.pod.start();
    this.#prober.start();
    const startMs = Math.round(clock.now() - sidecarAt);
    await this.#firstRequest();
    await this.#openRest(host);
    if (config.observability.tracing !== undefined) void this.#trace();
    logger.info("started", { port: config.servingPort, startMs });
    if (this.#identity.uid() === "") {
      logger.warn("no pod token: readiness cannot be pushed and leased requests are refused");
    }
  }

  /** The servers beside the data path need a module whose loading would hold up the first request. */
  async #openRest(host: string | undefined): Promise<void> {
    const admin = createAdminServer({
      waitForDrain: () => this.#path.drainer.waitForDrain(),
      onContainerReport: (report) => this.#path.pod.onContainerReport(report),
    });
    await listen(admin, host, ADMIN_PORT);
    const pages = await startPages({ path: this.#path, host, boot: () => this.#reporter.boot });
    this.#servers = [admin, ...pages];
  }

  /** The time in which it comes, where the container was not slow. */
  #firstRequest(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, REST_MS);
      this.#onReady = () => {
        this.#onReady = () => {};
        timer.refresh();
      };
      this.#noteState();
    });
  }

  /** Of the pod's state at any change. */
  #noteState(): void {
    if (this.#path.pod.current().state === "ready") this.#onReady();
  }

  /** After the first requests may come: who asks for traces does not want slower starts. */
  async #trace(): Promise<void> {
    const { config, logger } = this.#options;
    const { createFlowTracing } = await import("./tracing.ts");
    this.#path.tracing.current = createFlowTracing(config, logger);
  }

  /** SIGTERM: the pod ends. */
  drain(): void {
    this.#path.drainer.signal();
  }

  #openTls(host: string | undefined): Promise<TlsPort | undefined> {
    const { config, logger } = this.#options;
    const { reloadCertificateMs: reloadEveryMs = RELOAD_EVERY_MS } = this.#options;
    return openTlsPort({ config, front: this.#front, logger, host, reloadEveryMs });
  }

  #createProber(): Prober {
    const { config, clock } = this.#options;
    const { pod, readiness, flows } = this.#path;
    const options = { timeoutMs: this.#plan.timeoutMs, detectHttp2: config.http2AutoDetection };
    return new Prober({
      plan: this.#plan,
      readiness,
      clock,
      tryOnce: () => tryProbes(this.#plan, options),
      isBusy: () => flows.size > 0 || pod.occupied() > 0,
      onTried: (result) => {
        if (this.#plan.probes.length > 0 && result.kind !== "refused") pod.noteListening();
        pod.refresh();
      },
    });
  }

  #createReporter(boot: number): Reporter {
    const { config, clock, random, logger } = this.#options;
    const { pod, occupancy, drainer, identity } = this.#path;
    return new Reporter({
      clock,
      random,
      logger,
      boot,
      directory:
        config.podRoot === undefined
          ? createDnsDirectory(config.systemNamespace)
          : createFileDirectory(config.podRoot),
      token: () => identity.token(),
      localAddress: config.podIp,
      revision: config.revision,
      podName: config.podName,
      snapshot: () => this.#snapshot(),
      stillRunning: (ids) => occupancy.stillRunning(ids, clock.now()),
      onReply: (reply) => {
        pod.onReply(reply);
        drainer.noteAcknowledged(reply.drainAcknowledged);
      },
    });
  }

  #snapshot(): PodSnapshot {
    const { config } = this.#options;
    const { pod, occupancy, identity, breaker, samples } = this.#path;
    const { batch } = breaker.engine;
    const kvFreeTokens = pod.kvFreeTokens();
    return {
      revision: `${config.namespace}/${config.revision}`,
      podUid: identity.uid(),
      podName: config.podName,
      ...pod.current(),
      address: config.podIp,
      port: config.servingPort,
      capacity: config.containerConcurrency,
      inFlight: occupancy.open,
      occupied: pod.occupied(),
      reportsRunning: occupancy.reportsRunning,
      build: BUILD,
      marks: pod.marks,
      ...(kvFreeTokens === undefined ? {} : { kvFreeTokens }),
      ...(batch === undefined ? {} : { batch }),
      ...(breaker.localWaiting === 0
        ? {}
        : { localWaiting: breaker.localWaiting, localWorkUs: breaker.localWorkUs }),
      ...(samples.hasSome ? { samples: samples.take() } : {}),
    };
  }

  #onContainerRefused(): void {
    const { pod, readiness } = this.#path;
    readiness.onRefused();
    pod.refresh();
    this.#prober.hunt();
  }

  #onDrainPhase(phase: DrainDecision["phase"]): void {
    const { pod, flows } = this.#path;
    this.#options.logger.info("drain", { phase });
    if (phase === "draining") for (const flow of flows) flow.handBack("draining");
    pod.refresh();
  }

  async #leave(): Promise<void> {
    this.#prober.stop();
    this.#tls?.close();
    this.#front.stopAccepting();
    await this.#reporter.stop();
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
    await this.#front.close();
    this.#options.onLeft();
  }
}
