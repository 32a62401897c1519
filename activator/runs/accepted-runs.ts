/**
 * Runs that this activator accepted lately. A store that is lost with all its replicas takes its
 * runs with it, and their callers still ask: whoever accepted them tells the new store that they
 * existed, so that every activator answers `unknown` and not that there is no such run.
 */
import type { ServiceKey } from "../../common/contracts/async-runs.ts";
import type { Clock } from "../../common/clock.ts";
import type { RunStore } from "../../store/run-types.ts";
import { KEPT_MS } from "../core/run-answer.ts";

/** Runs that are remembered per activator; the eldest are forgotten first. */
const MOST_REMEMBERED = 10_000;
/** Between two looks at whether the store still has what it was given. */
const LOOK_EVERY_MS = 2_000;

export interface AcceptedRunsOptions {
  readonly store: Pick<RunStore, "known" | "noteLost" | "isLost">;
  readonly clock: Clock;
}

export class AcceptedRuns {
  readonly #options: AcceptedRunsOptions;
  /** By service: instant of the acceptance by id, eldest first. */
  readonly #accepted = new Map<ServiceKey, Map<string, number>>();
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(options: AcceptedRunsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  remember(service: ServiceKey, id: string): void {
    if (this.#size >= MOST_REMEMBERED) this.#forgetEldest();
    const runs = this.#accepted.get(service) ?? new Map<string, number>();
    this.#accepted.set(service, runs);
    // Again at the end, where the newest are.
    if (!runs.delete(id)) this.#size += 1;
    runs.set(id, this.#options.clock.now());
  }

  /** Of a run that the store does not have: it did exist. */
  async wasAccepted(service: ServiceKey, id: string): Promise<boolean> {
    const at = this.#accepted.get(service)?.get(id) ?? 0;
    if (this.#options.clock.now() - at < KEPT_MS) return true;
    return this.#options.store.isLost(service, id);
  }

  /** One read per service: the newest run of each must still be there, and so must all others. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      this.#forgetOld();
      for (const [service, runs] of this.#accepted) await this.#lookAt(service, [...runs.keys()]);
    } catch {
      // The store is away: that is no loss yet, and the next look tells.
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookAt(service: ServiceKey, ids: readonly string[]): Promise<void> {
    const { store } = this.#options;
    const newest = ids.at(-1);
    if (newest === undefined) return;
    const [isThere] = await store.known(service, [newest]);
    if (isThere === true || (await store.isLost(service, newest))) return;
    const known = await store.known(service, ids);
    const lost = ids.filter((_, index) => known[index] !== true);
    await store.noteLost(service, lost, KEPT_MS);
  }

  #forgetOld(): void {
    const since = this.#options.clock.now() - KEPT_MS;
    for (const [service, runs] of this.#accepted) {
      for (const [id, at] of runs) {
        if (at > since) break;
        runs.delete(id);
        this.#size -= 1;
      }
      if (runs.size === 0) this.#accepted.delete(service);
    }
  }

  #forgetEldest(): void {
    const [first] = this.#accepted;
    if (first === undefined) return;
    const [service, runs] = first;
    const [eldest] = runs.keys();
    if (eldest !== undefined && runs.delete(eldest)) this.#size -= 1;
    if (runs.size === 0) this.#accepted.delete(service);
  }
}
