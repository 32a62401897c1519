/**
 * Log lines about refused pushes, one per reason and second at most: a thousand pods that cannot be
 * checked for two minutes must not bury the line that says why.
 */
import type { Clock } from "../common/clock.ts";
import type { Logger } from "../foundation/logger.ts";

const PAUSE_MS = 1_000;

interface Heard {
  readonly at: number;
  /** Since that line. */
  silent: number;
}

export class RefusalLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By reason, of which there is a handful. */
  readonly #heard = new Map<string, Heard>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  refused(reason: string, from: string, error: unknown): void {
    const now = this.#clock.now();
    const last = this.#heard.get(reason);
    if (last !== undefined && now - last.at < PAUSE_MS) {
      last.silent += 1;
      return;
    }
    const more = last !== undefined && last.silent > 0 ? { more: last.silent } : {};
    this.#logger.warn("push refused", { reason, from, ...more, error });
    this.#heard.set(reason, { at: now, silent: 0 });
  }
}
