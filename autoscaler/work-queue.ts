/**
 * Keys that wait for a reconcile: each at most once, never two at a time for one key, with back-off
 * after a failure. One bad object therefore delays only itself.
 */
import { errorText } from "../common/errors.ts";
import type { Random } from "../common/random.ts";
import type { Logger } from "../foundation/logger.ts";
import type { CancelTimer, Timers } from "./timers.ts";

const BACK_OFF_BASE_MS = 50;
const BACK_OFF_MAX_MS = 30_000;

export interface WorkQueueOptions<K> {
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  /** Reconciles that run at the same time. */
  readonly concurrency: number;
  readonly run: (key: K) => Promise<void>;
}

interface Delayed {
  readonly afterMs: number;
  readonly cancel: CancelTimer;
  readonly why: "later" | "back-off";
}

export class WorkQueue<K> {
  readonly #options: WorkQueueOptions<K>;
  readonly #waiting = new Set<K>();
  /** The same in order, from `#next` on, with keys that were forgotten meanwhile: taking the first of
      a set that shrinks at its front costs more the longer it was. */
  #order: K[] = [];
  #next = 0;
  readonly #running = new Set<K>();
  readonly #again = new Set<K>();
  readonly #delayed = new Map<K, Delayed>();
  readonly #failures = new Map<K, number>();
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(options: WorkQueueOptions<K>) {
    this.#options = options;
  }

  get depth(): number {
    return this.#waiting.size;
  }

  /** Keys that wait or run at this moment. */
  get busy(): number {
    return this.#waiting.size + this.#running.size;
  }

  get failing(): number {
    return this.#failures.size;
  }

  /** As soon as possible, whatever back-off the key is in. */
  add(key: K): void {
    if (this.#stopped) return;
    this.#cancelDelay(key);
    if (this.#running.has(key)) this.#again.add(key);
    else if (!this.#waiting.has(key)) {
      this.#waiting.add(key);
      this.#order.push(key);
    }
    this.#pump();
  }

  /** For ticks: as `add`, but a key in back-off stays there. */
  offer(key: K): void {
    if (this.#delayed.get(key)?.why !== "back-off") this.add(key);
  }

  /** In `delayMs`, or earlier if the key is due earlier anyway. */
  addAfter(key: K, delayMs: number): void {
    if (this.#waiting.has(key)) return;
    const present = this.#delayed.get(key);
    if (present !== undefined && present.afterMs <= delayMs) return;
    this.#delay(key, delayMs, "later");
  }

  /** Drops everything about a key that is gone. */
  forget(key: K): void {
    this.#waiting.delete(key);
    this.#again.delete(key);
    this.#failures.delete(key);
    this.#cancelDelay(key);
  }

  /** Takes no more work and resolves when what runs has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.clear();
    this.#order = [];
    this.#next = 0;
    this.#again.clear();
    for (const key of this.#delayed.keys()) this.#cancelDelay(key);
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #delay(key: K, afterMs: number, why: Delayed["why"]): void {
    if (this.#stopped) return;
    this.#cancelDelay(key);
    const cancel = this.#options.timers.after(afterMs, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { afterMs, cancel, why });
  }

  #cancelDelay(key: K): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  #pump(): void {
    while (this.#next < this.#order.length && this.#running.size < this.#options.concurrency) {
      const key = this.#order[this.#next];
      this.#next += 1;
      if (key === undefined || !this.#waiting.delete(key)) continue;
      this.#running.add(key);
      void this.#runOne(key);
    }
    if (this.#next < this.#order.length) return;
    this.#order = [];
    this.#next = 0;
  }

  async #runOne(key: K): Promise<void> {
    try {
      await this.#options.run(key);
      this.#failures.delete(key);
    } catch (error) {
      this.#backOff(key, error);
    }
    this.#running.delete(key);
    if (this.#again.delete(key)) this.add(key);
    else this.#pump();
    if (this.#running.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #backOff(key: K, error: unknown): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const fullMs = Math.min(BACK_OFF_MAX_MS, BACK_OFF_BASE_MS * 2 ** (failures - 1));
    const delayMs = fullMs * (0.5 + this.#options.random() / 2);
    this.#options.logger.warn("reconcile failed", {
      key: String(key),
      failures,
      delayMs: Math.round(delayMs),
      error: error instanceof Error ? error : errorText(error),
    });
    this.#delay(key, delayMs, "back-off");
  }
}
