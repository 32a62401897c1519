/**
 * What an engine still has room for, by its own last report and by what was sent to it since. It
 * must never hold calls that wait: it would order them by a rule of its own.
 *
 *   report: 3 running, 0 waiting, 9,000 tokens free;   sent since: a call of 4,000 tokens
 *   -> one call not started yet: nothing more is sent until the engine says that it began
 */

export interface EngineReport {
  /** Calls accepted, those that wait included. */
  readonly running?: number;
  /** Of these, calls that have not begun. */
  readonly waiting?: number;
  readonly kvFreeTokens?: number;
}

export class EngineRoom {
  /** Calls sent and not ended. */
  #sent = 0;
  #running = 0;
  #waiting: number | undefined;
  #kvFreeTokens: number | undefined;

  get kvFreeTokens(): number | undefined {
    return this.#kvFreeTokens;
  }

  /** Calls that the engine said it works on together. */
  get batch(): number | undefined {
    return this.#waiting === undefined ? undefined : Math.max(0, this.#running - this.#waiting);
  }

  report({ running, waiting, kvFreeTokens }: EngineReport): void {
    if (running !== undefined) this.#running = running;
    if (waiting !== undefined) this.#waiting = waiting;
    if (kvFreeTokens !== undefined) this.#kvFreeTokens = kvFreeTokens;
  }

  begin(): void {
    this.#sent += 1;
  }

  end(): void {
    this.#sent -= 1;
  }

  /** Whether a call of that size would begin at once. */
  takes(promptTokens: number): boolean {
    // An engine that does not tell how many wait is trusted to begin what it gets.
    if (this.#waiting === undefined) return true;
    const unseen = Math.max(0, this.#sent - this.#running);
    if (this.#waiting + unseen > 0) return false;
    if (this.#kvFreeTokens === undefined || this.#sent === 0) return true;
    return promptTokens <= this.#kvFreeTokens;
  }
}
