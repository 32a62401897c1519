/**
 * The user container of a local pod with the kubelet's part: its process (or engine container),
 * startup, liveness and exec readiness probes, restarts, and what its failures are called.
 */
import { startChild, describeExit } from "./child.ts";
import type { Child, ChildExit } from "./child.ts";
import { containerArguments, removeContainer } from "./container-engine.ts";
import type { LogFile } from "./log-file.ts";
import type { PodPlace, PodPlan } from "./pod-types.ts";
import { killMarked, POD_MARK } from "./pod-leftovers.ts";
import { startProbeLoop } from "./probe-loop.ts";
import type { ProbeLoop } from "./probe-loop.ts";
import { runProbe } from "./probes.ts";
import type { Probe } from "./service-types.ts";
import { Supervised } from "./supervised.ts";
import type { Watchdog } from "./watchdog.ts";

/** A container whose liveness failed has this long to end by itself. */
const LIVENESS_GRACE_MS = 5_000;

export interface ContainerOptions {
  readonly plan: PodPlan;
  readonly place: PodPlace;
  readonly env: Readonly<Record<string, string>>;
  readonly log: LogFile;
  readonly watchdog: Watchdog;
  /** Begins the marks of this pod's lives. */
  readonly mark: string;
  /** Startup and exec readiness probes have passed (or not): the sidecar's gate. */
  readonly onGate: (open: boolean) => void;
  readonly onFailure: (reason: string, message: string, pauseMs: number) => void;
}

export class Container {
  readonly #options: ContainerOptions;
  readonly #process: Supervised;
  #loops: ProbeLoop[] = [];
  #killReason = "";

  constructor(options: ContainerOptions) {
    this.#options = options;
    this.#process = new Supervised({
      start: () => this.#startLife(),
      onExit: (exit, pauseMs) => this.#onExit(exit, pauseMs),
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

  /** From now on its end is its end. */
  retire(): void {
    this.#process.retire();
    this.#stopProbes();
  }

  async stop(graceMs: number): Promise<void> {
    this.retire();
    await this.#process.stop(graceMs);
    killMarked(`${this.#options.mark}.`);
    const { plan, watchdog } = this.#options;
    if (plan.launch.kind !== "container") return;
    const { engine } = plan.launch;
    await removeContainer(engine, this.#engineName());
    watchdog.forgetContainer(engine, this.#engineName());
  }

  #startLife(): Child {
    const { plan, log, watchdog } = this.#options;
    const { launch } = plan;
    const env = { ...this.#options.env, [POD_MARK]: this.#lifeMark() };
    log.newLife();
    this.#killReason = "";
    this.#startProbes();
    if (launch.kind === "process") {
      return startChild({ ...launch, env, log }, watchdog);
    }
    const { container } = plan.template;
    const name = this.#engineName();
    watchdog.watchContainer(launch.engine, name);
    const args = containerArguments({ engine: launch.engine, name, container, env });
    const hostEnv = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "" };
    return startChild({ command: launch.engine, args, cwd: "/", env: hostEnv, log }, watchdog);
  }

  /** Ends with a dot, so that no life's mark begins another's. */
  #lifeMark(): string {
    return `${this.#options.mark}.${this.#process.restarts}.`;
  }

  #engineName(): string {
    return `pilotlight-${this.#options.place.uid}-${this.#process.restarts}`;
  }

  #onExit(exit: ChildExit, pauseMs: number): void {
    this.#stopProbes();
    const { log, onFailure, plan, watchdog } = this.#options;
    killMarked(this.#lifeMark());
    if (plan.launch.kind === "container") {
      watchdog.forgetContainer(plan.launch.engine, this.#engineName());
    }
    const words = log.lastWords();
    const what = this.#killReason === "" ? describeExit(exit) : this.#killReason;
    const message =
      words === "" ? `container ${what}` : `container ${what}; its last words:\n${words}`;
    log.note(`container ${what}; next start in ${Math.round(pauseMs)} ms`);
    onFailure(exit.startError === "" ? "CrashLoopBackOff" : "RunContainerError", message, pauseMs);
  }

  #startProbes(): void {
    const { startup, readiness } = this.#options.plan.template.container;
    this.#options.onGate(startup === null && readiness.handler.kind !== "exec");
    if (startup === null) this.#startLaterProbes();
    else
      this.#loop({ ...startup, successThreshold: 1 }, (passed, reason) => {
        this.#stopProbes();
        if (passed) this.#startLaterProbes();
        else this.#kill(`was killed, its startup probe failed (${reason})`);
      });
  }

  #startLaterProbes(): void {
    const { liveness, readiness } = this.#options.plan.template.container;
    if (readiness.handler.kind === "exec") {
      this.#loop(readiness, (passed) => this.#options.onGate(passed));
    } else this.#options.onGate(true);
    if (liveness !== null) {
      // The first try after a full period: the kubelet, too, leaves a container a moment.
      const initialDelaySeconds = liveness.initialDelaySeconds || liveness.periodSeconds || 1;
      this.#loop({ ...liveness, initialDelaySeconds }, (passed, reason) => {
        if (!passed) this.#kill(`was killed, its liveness probe failed (${reason})`);
      });
    }
  }

  #loop(probe: Probe, onVerdict: (passed: boolean, reason: string) => void): void {
    const { plan, place, env } = this.#options;
    const { launch } = plan;
    const context = {
      userPort: place.userPort,
      cwd: launch.kind === "process" ? launch.cwd : "/",
      env,
      execPrefix: launch.kind === "process" ? [] : [launch.engine, "exec", this.#engineName()],
    };
    const loop = startProbeLoop({
      probe,
      attempt: (timeoutMs) => runProbe(probe.handler, { ...context, timeoutMs }),
      onVerdict: (verdict, reason) => onVerdict(verdict === "passed", reason),
    });
    this.#loops.push(loop);
  }

  #stopProbes(): void {
    for (const loop of this.#loops) loop.stop();
    this.#loops = [];
  }

  #kill(reason: string): void {
    this.#stopProbes();
    this.#killReason = reason;
    this.#options.onGate(false);
    void this.#process.restart(LIVENESS_GRACE_MS);
  }
}
