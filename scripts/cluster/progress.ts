/**
 * What a long step is doing, on standard error: one line that is rewritten on a terminal, a line
 * now and then in a log.
 */

/** How often a log gets a line about a step that goes on. */
const LOG_EVERY_MS = 20_000;

export class Progress {
  readonly #terminal = process.stderr.isTTY;
  #title = "";
  #startedAt = 0;
  #loggedAt = 0;

  /** Runs one named step and tells how long it took. */
  async step<T>(title: string, work: () => Promise<T>): Promise<T> {
    this.#title = title;
    this.#startedAt = performance.now();
    this.#loggedAt = this.#startedAt;
    if (this.#terminal) this.#rewrite(`${title} ...`);
    try {
      const result = await work();
      this.#finish(`${title}: ${this.#seconds()}`);
      return result;
    } catch (error) {
      this.#finish(`${title}: failed after ${this.#seconds()}`);
      throw error;
    }
  }

  /** Says how far the running step is. */
  detail(words: string): void {
    const text = `${this.#title}: ${words}, ${this.#seconds()}`;
    if (this.#terminal) return this.#rewrite(text);
    if (performance.now() - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = performance.now();
    process.stderr.write(`${text}\n`);
  }

  #rewrite(text: string): void {
    const width = process.stderr.columns;
    process.stderr.write(`\r\x1b[K${text.slice(0, Math.max(20, width - 1))}`);
  }

  #finish(text: string): void {
    process.stderr.write(this.#terminal ? `\r\x1b[K${text}\n` : `${text}\n`);
  }

  #seconds(): string {
    const seconds = (performance.now() - this.#startedAt) / 1000;
    if (seconds < 60) return `${seconds.toFixed(1)} s`;
    return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  }
}
