/**
 * Keeps one process running: starts it again when it ends, after a pause that doubles with each
 * short life. Used for both processes of a pod and for the activators.
 */
import type { Child, ChildExit } from "./child.ts";

export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** A life at least this long counts as healthy: the pause begins small again. */
  readonly healthyMs: number;
}

/** Shorter than the kubelet's 10 s to 5 min: a person waits in front of the machine. */
export const LOCAL_BACK_OFF: BackOff = { firstMs: 250, maxMs: 10_000, healthyMs: 30_000 };

export interface SupervisedOptions {
  /** Starts one life; called again for each. */
  readonly start: () => Child;
  /** After each end that nobody asked for; `pauseMs` is the time until the next life. */
  readonly onExit: (exit: ChildExit, pauseMs: number) => void;
  readonly backOff?: BackOff;
}

export class Supervised {
  readonly #options: SupervisedOptions;
  #child: Child | undefined;
  #ending = false;
  #timer: NodeJS.Timeout | undefined;
  #shortLives = 0;
  #restarts = 0;

  constructor(options: SupervisedOptions) {
    this.#options = options;
  }

  get pid(): number {
    return this.#child?.running === true ? this.#child.pid : 0;
  }

  get restarts(): number {
    return this.#restarts;
  }

  start(): void {
    const child = this.#options.start();
    this.#child = child;
    void child.exited.then((exit) => this.#afterExit(exit));
  }

  /** No further life after this one. */
  retire(): void {
    this.#ending = true;
    clearTimeout(this.#timer);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.signal(signal);
  }

  /** Ends this life; the next one begins as after a crash. */
  async restart(graceMs: number): Promise<void> {
    await this.#child?.stop(graceMs);
  }

  async stop(graceMs: number): Promise<void> {
    this.retire();
    await this.#child?.stop(graceMs);
  }

  async exited(): Promise<void> {
    await this.#child?.exited;
  }

  #afterExit(exit: ChildExit): void {
    if (this.#ending) return;
    const { firstMs, maxMs, healthyMs } = this.#options.backOff ?? LOCAL_BACK_OFF;
    this.#shortLives = exit.runMs >= healthyMs ? 0 : this.#shortLives + 1;
    const pauseMs = Math.min(maxMs, firstMs * 2 ** Math.max(0, this.#shortLives - 1));
    this.#options.onExit(exit, pauseMs);
    this.#timer = setTimeout(() => {
      this.#restarts += 1;
      this.start();
    }, pauseMs);
  }
}
