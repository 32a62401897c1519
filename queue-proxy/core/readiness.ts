/**
 * Is this pod ready? Joins the user's probe, what the container says of itself, and the pause after
 * a restart of the sidecar. Level-based: feed facts, read the state.
 *
 *   starting --threshold of passes--> ready <--passes-- unready
 *                                     ready --failures, refusal, container's word--> unready
 */
import type { ReportedState } from "../../common/contracts/push.ts";

export interface Thresholds {
  readonly success: number;
  readonly failure: number;
}

/** `busy`: the probe timed out while a request runs, which says nothing. */
export type ProbeOutcome = "passed" | "failed" | "refused" | "busy";

export const CONTAINER_STATES = ["loading", "ready", "paused"] as const;
export type ContainerState = (typeof CONTAINER_STATES)[number];

export interface Verdict {
  readonly state: Exclude<ReportedState, "draining">;
  readonly reason: string;
}

export class Readiness {
  readonly #thresholds: Thresholds;
  #passing = false;
  #successes = 0;
  #failures = 0;
  #wasReady = false;
  #probeReason = "not probed yet";
  #container: ContainerState | undefined;
  /** Why ready is withheld although the probe passes; empty when it is not. */
  #withheld = "";

  constructor(thresholds: Thresholds) {
    this.#thresholds = thresholds;
  }

  /** The probe has passed its success threshold and not failed since. */
  get passing(): boolean {
    return this.#passing;
  }

  onProbe(outcome: ProbeOutcome, reason = ""): void {
    if (outcome === "busy") return;
    if (outcome === "passed") {
      this.#failures = 0;
      this.#successes += 1;
      if (this.#successes >= this.#thresholds.success) this.#passing = true;
    } else {
      this.#successes = 0;
      this.#failures += 1;
      this.#probeReason = reason;
      if (this.#failures >= this.#thresholds.failure) this.#passing = false;
    }
    this.#noteReady();
  }

  /** A request found nobody listening: no threshold is needed to know that it cannot serve. */
  onRefused(): void {
    this.#passing = false;
    this.#successes = 0;
    this.#probeReason = "container refuses connections";
  }

  onContainerState(state: ContainerState): void {
    this.#container = state;
    this.#noteReady();
  }

  /** Withholds ready for a reason, until called with an empty one. */
  withhold(reason: string): void {
    this.#withheld = reason;
    this.#noteReady();
  }

  verdict(): Verdict {
    const reason = this.#obstacle();
    if (reason === "") return { state: "ready", reason };
    return { state: this.#wasReady ? "unready" : "starting", reason };
  }

  #obstacle(): string {
    if (!this.#passing) return this.#probeReason;
    if (this.#container !== undefined && this.#container !== "ready") {
      return `container says ${this.#container}`;
    }
    return this.#withheld;
  }

  #noteReady(): void {
    if (this.#obstacle() === "") this.#wasReady = true;
  }
}
