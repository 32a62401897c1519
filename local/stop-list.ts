/** What must be undone, last first. A part that fails to stop does not keep the others running. */
import type { Logger } from "../foundation/logger.ts";

export class StopList {
  readonly #logger: Logger;
  readonly #parts: { readonly name: string; readonly stop: () => Promise<void> | void }[] = [];
  #stopping: Promise<void> | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** To be called as soon as the part runs. */
  add(name: string, stop: () => Promise<void> | void): void {
    this.#parts.push({ name, stop });
  }

  /** The second call joins the first. */
  stopAll(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    for (const { name, stop } of this.#parts.toReversed()) {
      try {
        await stop();
      } catch (error) {
        this.#logger.error("part failed to stop", { part: name, error });
      }
    }
  }
}
