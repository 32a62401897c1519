/** A wait that ends by the clock or by a signal, whichever comes first; a signal is never lost. */
export class Wake {
  #isSignalled = false;
  #resolve: (() => void) | undefined;

  signal(): void {
    this.#isSignalled = true;
    this.#resolve?.();
  }

  /** Forgets a signal that nobody has waited for. */
  clear(): void {
    this.#isSignalled = false;
  }

  async wait(timeoutMs: number): Promise<void> {
    if (!this.#isSignalled) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.#resolve = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#resolve = undefined;
    this.#isSignalled = false;
  }
}
