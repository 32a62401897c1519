/**
 * Takes a snapshot per period for all browsers together, keeps the history, and tells listeners.
 * It runs whether or not somebody looks, so that a page opened late still shows the past minutes.
 */
import { createHistory } from "./history.ts";
import { Past } from "./past.ts";
import type { DashboardParts } from "./ports.ts";
import { takeSnapshot } from "./snapshot.ts";
import type { FiguresByRevision } from "./snapshot.ts";
import type { History, Snapshot } from "./view.ts";

const DEFAULT_SAMPLE_EVERY_MS = 1_000;

export class Sampler {
  readonly #parts: DashboardParts;
  readonly #sampleEveryMs: number;
  readonly #history = createHistory();
  readonly #listeners = new Set<(snapshot: Snapshot) => void>();
  readonly #past = new Past();
  #figures: FiguresByRevision = new Map();
  #last: Snapshot | undefined;
  #sampling: Promise<Snapshot> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = true;

  constructor(parts: DashboardParts) {
    this.#parts = parts;
    this.#sampleEveryMs = parts.sampleEveryMs ?? DEFAULT_SAMPLE_EVERY_MS;
  }

  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    void this.#loop();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#listeners.clear();
    await this.#sampling?.catch(() => undefined);
  }

  /** The last snapshot; takes the first one when there is none yet. */
  async latest(): Promise<Snapshot> {
    return this.#last ?? this.#sample();
  }

  history(): History {
    return { sampleEveryMs: this.#sampleEveryMs, series: this.#history.read() };
  }

  /** Called after each sample; answers a function that ends the subscription. */
  onSample(listener: (snapshot: Snapshot) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #loop(): Promise<void> {
    const { clock, logger } = this.#parts;
    const startedAt = clock.now();
    try {
      const snapshot = await this.#sample();
      for (const listener of this.#listeners) listener(snapshot);
    } catch (error) {
      logger.error("dashboard sample failed", { error });
    }
    if (this.#stopped) return;
    const pauseMs = Math.max(0, this.#sampleEveryMs - (clock.now() - startedAt));
    this.#timer = setTimeout(() => void this.#loop(), pauseMs);
    this.#timer.unref();
  }

  /** Joins a sample that is under way, so that a slow store is never read twice at once. */
  #sample(): Promise<Snapshot> {
    this.#sampling ??= this.#take().finally(() => {
      this.#sampling = undefined;
    });
    return this.#sampling;
  }

  async #take(): Promise<Snapshot> {
    const { snapshot, figures } = await takeSnapshot(this.#parts, this.#figures, this.#past);
    this.#figures = figures;
    this.#last = snapshot;
    this.#history.add(
      snapshot.at,
      snapshot.services.flatMap((service) => service.revisions),
    );
    return snapshot;
  }
}
