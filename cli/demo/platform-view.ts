/**
 * What the demo reads of the running platform, and the pod counts that it keeps of each service:
 * polled often, since a pod that came and went between two looks would be missed.
 */
import type { ColdStartRecord } from "../../common/contracts/channels.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";

export interface DemoPlatform {
  /** Where every service answers by its Host; both activators listen here. */
  readonly ingressUrl: string;
  /** Each activator's own port. */
  readonly activatorUrls: readonly string[];
  readonly dashboardUrl: string;
  /** Which store serves, in words. */
  readonly store: string;
  /** `8.0.1`. */
  readonly storeVersion: string;
  readonly storeIsRedis: boolean;
  services(): readonly DemoService[];
  /** Pods that exist now, terminating ones included. */
  pods(service: string): readonly DemoPod[];
  /** Requests that wait for a slot now. */
  waiting(service: string): Promise<number>;
  coldStarts(service: string): Promise<readonly ColdStartRecord[]>;
  /** Ends everything; pods get `graceMs` to finish. */
  stop(graceMs: number): Promise<void>;
}

export interface DemoService {
  readonly name: string;
  /** `NAME.NAMESPACE.localhost`. */
  readonly host: string;
  readonly key: RevisionKey;
}

export interface DemoPod {
  readonly uid: string;
  readonly phase: "pending" | "starting" | "ready" | "unready" | "terminating";
}

const LOOK_EVERY_MS = 50;

export class PodCounts {
  readonly #platform: DemoPlatform;
  readonly #largest = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(platform: DemoPlatform) {
    this.#platform = platform;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  /** Pods that run and are not on their way out. */
  now(service: string): number {
    return this.#platform.pods(service).filter((pod) => pod.phase !== "terminating").length;
  }

  ready(service: string): number {
    return this.#platform.pods(service).filter((pod) => pod.phase === "ready").length;
  }

  /** Pods that exist in any phase; 0 means that nothing is left. */
  existing(service: string): number {
    return this.#platform.pods(service).length;
  }

  /** Largest number of ready pods seen so far. */
  largest(service: string): number {
    return this.#largest.get(service) ?? 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const { name } of this.#platform.services()) {
      this.#largest.set(name, Math.max(this.largest(name), this.ready(name)));
    }
  }
}
