/**
 * One local pod: a user container and its queue-proxy, with an address, files and logs of its own.
 *
 *   pending ──start──► starting ──probe passed──► ready ◄──► unready
 *                         └──────────────┬───────────┘
 *                                    terminate ──► terminating ──► gone
 *
 * Either process is started again in place when it ends (same UID); only `terminate` ends the pod.
 */
import type { ActivationFailure } from "../common/contracts/routing.ts";
import type { PodPhase } from "../autoscaler/ports.ts";
import type { Clock } from "../common/clock.ts";
import { Container } from "./container.ts";
import { LogFile } from "./log-file.ts";
import { containerEnvironment, sidecarEnvironment } from "./pod-environment.ts";
import type { HostFacts, SidecarExtras } from "./pod-environment.ts";
import * as podFiles from "./pod-files.ts";
import { runMark } from "./pod-leftovers.ts";
import { signPodToken } from "./pod-identity.ts";
import type { PodEvent, PodEventKind, PodPlace, PodPlan, PodSummary } from "./pod-types.ts";
import type { ReadinessGate } from "./readiness-gate.ts";
import type { RunFolder } from "./run-folder.ts";
import { RUN_FILES } from "./run-folder.ts";
import { Sidecar } from "./sidecar.ts";
import type { Watchdog } from "./watchdog.ts";

/** What all pods of a platform share. */
export interface PodWorld {
  readonly clock: Clock;
  readonly folder: RunFolder;
  readonly secret: string;
  readonly watchdog: Watchdog;
  readonly gate: ReadinessGate;
  readonly extras: SidecarExtras;
  readonly host: HostFacts;
  /** `push` sides of the activators, as they are now. */
  activators(): readonly string[];
}

export interface PodOptions {
  readonly plan: PodPlan;
  readonly place: PodPlace;
  readonly decidedAt: number;
  readonly world: PodWorld;
  readonly onEvent: (event: PodEvent) => void;
  /** Its sidecar has drained unasked; only another pod can take its place. */
  readonly onDrained: () => void;
}

export class Pod {
  readonly plan: PodPlan;
  readonly place: PodPlace;
  readonly createdAt: number;
  readonly #options: PodOptions;
  readonly #container: Container;
  readonly #sidecar: Sidecar;
  readonly #logs: { readonly user: LogFile; readonly sidecar: LogFile };
  #phase: PodPhase = "pending";
  #failure: (ActivationFailure & { count: number }) | null = null;
  #wasReady = false;
  #end: Promise<void> | undefined;
  /** Cuts a running drain short. */
  #hurry = new AbortController();

  constructor(options: PodOptions) {
    this.#options = options;
    const { plan, place, world } = options;
    this.plan = plan;
    this.place = place;
    this.createdAt = world.clock.now();
    const log = (which: string): LogFile =>
      new LogFile(world.folder.at(RUN_FILES.logs, `${place.name}.${which}.log`));
    this.#logs = { user: log("user"), sidecar: log("sidecar") };
    const shared = { plan, place, watchdog: world.watchdog };
    this.#container = new Container({
      ...shared,
      mark: `${runMark(world.folder.path, process.pid)}.${place.uid}`,
      env: containerEnvironment(plan, place, world.host),
      log: this.#logs.user,
      onGate: (open) => world.gate.set(place.uid, open),
      onFailure: (reason, message) => this.#fail(reason, message),
    });
    this.#sidecar = new Sidecar({
      ...shared,
      env: sidecarEnvironment(plan, place, world.extras),
      log: this.#logs.sidecar,
      onReady: (ready, reason) => this.#setReady(ready, reason),
      onFailure: (message) => this.#fail("QueueProxyFailed", message),
      onDrained: options.onDrained,
    });
  }

  get phase(): PodPhase {
    return this.#phase;
  }

  get summary(): PodSummary {
    const { plan, place } = this;
    return {
      uid: place.uid,
      name: place.name,
      phase: this.#phase,
      card: plan.card,
      createdAt: this.createdAt,
      failure: this.#failure,
      waitingFor: "",
      key: plan.key,
      service: plan.service,
      revision: plan.revision,
      address: place.address,
      userPort: place.userPort,
      userPid: this.#container.pid,
      sidecarPid: this.#sidecar.pid,
      restarts: this.#container.restarts + this.#sidecar.restarts,
    };
  }

  /** Files first (an activator may ask for the record at once), then both processes side by side. */
  start(): void {
    const { plan, place } = this;
    const { decidedAt, world } = this.#options;
    podFiles.createPodRoot(place.root);
    this.refreshToken();
    this.refreshActivators();
    podFiles.writeAnnotations(place.root, plan.template.annotations);
    podFiles.writePodRecord(world.folder.at(RUN_FILES.pods), {
      uid: place.uid,
      name: place.name,
      namespace: plan.namespace,
      service: plan.service,
      configuration: plan.configuration,
      revision: plan.revision,
      address: place.address,
      card: plan.card,
      decidedAt,
      spawnedAt: world.clock.now(),
    });
    this.#phase = "starting";
    this.#container.start();
    this.#sidecar.start();
    this.#tell("starting", `starting (${plan.launch.shown})`);
  }

  refreshToken(): void {
    const { plan, place } = this;
    const { world } = this.#options;
    const identity = { namespace: plan.namespace, podName: place.name, podUid: place.uid };
    podFiles.writeToken(place.root, signPodToken(world.secret, identity, world.clock.now()));
  }

  refreshActivators(): void {
    podFiles.writeActivators(this.place.root, this.#options.world.activators());
  }

  /** As annotating the pod would do in a cluster. */
  refreshAnnotations(annotations: Readonly<Record<string, string>>): void {
    podFiles.writeAnnotations(this.place.root, annotations);
  }

  /**
   * Drains, then ends both processes; at `graceMs` they are killed. A second call with a shorter
   * grace cuts the first one short.
   */
  terminate(graceMs: number, reason: string): Promise<void> {
    if (this.#end === undefined) {
      this.#phase = "terminating";
      this.#tell("draining", `draining: ${reason}`);
      this.#end = this.#terminate();
    }
    const timer = setTimeout(() => this.#hurry.abort(), graceMs);
    return this.#end.finally(() => clearTimeout(timer));
  }

  async #terminate(): Promise<void> {
    const { place, plan } = this;
    const graceMs = plan.template.timeoutSeconds * 1000;
    const cut = new Promise<void>((resolve) => {
      this.#hurry.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    this.#container.retire();
    const hook = this.#sidecar.waitForDrain(graceMs);
    this.#sidecar.beginDrain();
    await Promise.race([hook, cut]);
    const leave = async (): Promise<void> => {
      await this.#container.stop(graceMs);
      await this.#sidecar.exited();
    };
    await Promise.race([leave(), cut]);
    await Promise.all([this.#container.stop(0), this.#sidecar.stop(0)]);
    this.#clearAway(place);
    this.#tell("gone", "gone");
  }

  #clearAway(place: PodPlace): void {
    const { world } = this.#options;
    world.gate.remove(place.uid);
    this.#logs.user.close();
    this.#logs.sidecar.close();
    podFiles.removePodFiles(world.folder.at(RUN_FILES.pods), place.root, place.uid);
  }

  #setReady(ready: boolean, reason: string): void {
    if (this.#phase === "terminating") return;
    if (ready) {
      this.#failure = null;
      this.#phase = "ready";
      const tookMs = Math.round(this.#options.world.clock.now() - this.createdAt);
      const text = this.#wasReady ? "ready again" : `ready after ${tookMs} ms`;
      this.#wasReady = true;
      return this.#tell("ready", text);
    }
    if (this.#phase !== "ready") return;
    this.#phase = "unready";
    this.#tell("unready", `not ready: ${reason}`);
  }

  /** Counts failures of the same kind; readiness forgets them. */
  #fail(reason: string, message: string): void {
    if (this.#phase === "terminating") return;
    const count = this.#failure?.reason === reason ? this.#failure.count + 1 : 1;
    this.#failure = { reason, message, count };
    this.#tell("failed", message);
  }

  #tell(kind: PodEventKind, text: string): void {
    this.#options.onEvent({ kind, phase: this.#phase, text });
  }
}
