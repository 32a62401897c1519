/**
 * The queue-proxy process of a local pod, and the two calls that the kubelet makes to it: its
 * readiness probe and the container's preStop hook.
 */
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { NETWORK_PROBE_HEADER } from "../common/contracts/headers.ts";
import { describeExit, startChild } from "./child.ts";
import type { LogFile } from "./log-file.ts";
import { PROXY_PORTS, SIDECAR_ADMIN_PORT } from "./pod-environment.ts";
import type { PodPlace, PodPlan } from "./pod-types.ts";
import { startProbeLoop } from "./probe-loop.ts";
import type { ProbeLoop } from "./probe-loop.ts";
import { Supervised } from "./supervised.ts";
import type { Watchdog } from "./watchdog.ts";

/** One bundled file where the set-up has made it, since it starts faster; else the sources. */
const SIDECAR_MAIN =
  process.env["PILOTLIGHT_SIDECAR"] ??
  fileURLToPath(new URL("../queue-proxy/main.ts", import.meta.url));
/**
 * How Node runs a sidecar; the image does the same. There is one per pod: a small young generation
 * saves memory under load and costs no time. No flag that changes what V8 compiles: the code that
 * Node brings along would be refused at every start (docs/decisions/0009).
 */
export const SIDECAR_NODE_FLAGS = ["--max-semi-space-size=2"] as const;
/** The sidecar answers at once or holds the probe until it is ready, for at most 10 s. */
const PROBE_TIMEOUT_SECONDS = 12;

export interface SidecarOptions {
  readonly plan: PodPlan;
  readonly place: PodPlace;
  readonly env: Readonly<Record<string, string>>;
  readonly log: LogFile;
  readonly watchdog: Watchdog;
  readonly onReady: (ready: boolean, reason: string) => void;
  readonly onFailure: (message: string) => void;
  /** It was told to stop by somebody else and has drained: routing never takes this pod again. */
  readonly onDrained: () => void;
}

export class Sidecar {
  readonly #options: SidecarOptions;
  readonly #process: Supervised;
  #loop: ProbeLoop | undefined;

  constructor(options: SidecarOptions) {
    this.#options = options;
    const { env, log, watchdog, place } = options;
    this.#process = new Supervised({
      start: () => {
        log.newLife();
        this.#startProbe();
        const args = [...SIDECAR_NODE_FLAGS, SIDECAR_MAIN];
        return startChild({ command: process.execPath, args, cwd: place.root, env, log }, watchdog);
      },
      onExit: (exit, pauseMs) => {
        this.#loop?.stop();
        if (exit.code === 0) return options.onDrained();
        const what = `queue-proxy ${describeExit(exit)}`;
        log.note(`${what}; next start in ${Math.round(pauseMs)} ms`);
        options.onReady(false, what);
        options.onFailure(`${what}; its last words:\n${log.lastWords()}`);
      },
    });
  }

  get pid(): number {
    return this.#process.pid;
  }

  get restarts(): number {
    return this.#process.restarts;
  }

  start(): void {
    this.#process.start();
  }

  /** SIGTERM; it drains and ends by itself. */
  beginDrain(): void {
    this.#loop?.stop();
    this.#process.retire();
    this.#process.signal("SIGTERM");
  }

  exited(): Promise<void> {
    return this.#process.exited();
  }

  async stop(graceMs: number): Promise<void> {
    this.#loop?.stop();
    await this.#process.stop(graceMs);
  }

  /** The preStop hook: held until nothing runs in the pod any more. Ends early when the sidecar is gone. */
  waitForDrain(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const { address } = this.#options.place;
      const outgoing = request(
        { host: address, port: SIDECAR_ADMIN_PORT, path: "/wait-for-drain", agent: false },
        (response) => {
          response.resume();
          response.on("close", () => resolve());
        },
      );
      outgoing.on("error", () => resolve());
      outgoing.setTimeout(timeoutMs, () => outgoing.destroy());
      outgoing.end();
    });
  }

  /** A new life has its own verdict. */
  #startProbe(): void {
    this.#loop = startProbeLoop({
      probe: {
        handler: { kind: "tcp", port: 0 },
        initialDelaySeconds: 0,
        periodSeconds: 0,
        timeoutSeconds: PROBE_TIMEOUT_SECONDS,
        successThreshold: 1,
        failureThreshold: 1,
      },
      attempt: (timeoutMs) => this.#probe(timeoutMs),
      onVerdict: (verdict, reason) => this.#options.onReady(verdict === "passed", reason),
    });
  }

  #probe(timeoutMs: number): Promise<string> {
    const { plan, place } = this.#options;
    return new Promise((resolve) => {
      const outgoing = request(
        {
          host: place.address,
          port: PROXY_PORTS[plan.template.container.protocol],
          path: "/",
          headers: { "user-agent": "kube-probe/local", [NETWORK_PROBE_HEADER]: "queue" },
          agent: false,
          timeout: timeoutMs,
        },
        (response) => {
          response.resume();
          const passed = response.statusCode === 200;
          resolve(passed ? "" : `queue-proxy answers ${response.statusCode ?? 0}`);
        },
      );
      outgoing.on("timeout", () => outgoing.destroy(new Error("timed out")));
      outgoing.on("error", (error) => resolve(error.message));
      outgoing.end();
    });
  }
}
