/**
 * Where calls wait for the connection. One pair of listeners for all of them: thousands of requests
 * may wait while the store is away.
 */
import type { PlatformError } from "../common/errors.ts";
import { isClosed, unavailable } from "./client.ts";
import type { StoreClient } from "./client.ts";

type Waiter = (error?: PlatformError) => void;

export class ReadyGate {
  readonly #client: StoreClient;
  readonly #waiters = new Set<Waiter>();

  constructor(client: StoreClient) {
    this.#client = client;
    client.on("ready", () => this.#open());
    client.on("end", () => {
      if (isClosed(client)) this.#open(unavailable("the connection was closed"));
    });
  }

  get isOpen(): boolean {
    return this.#client.status === "ready";
  }

  /** Resolves when the connection is ready; rejects after `timeoutMs` or when it was closed for good. */
  wait(timeoutMs: number): Promise<void> {
    if (this.isOpen) return Promise.resolve();
    if (isClosed(this.#client)) {
      return Promise.reject(unavailable("the connection was closed"));
    }
    return new Promise((resolve, reject) => {
      const finish: Waiter = (error) => {
        clearTimeout(timer);
        this.#waiters.delete(finish);
        if (error === undefined) resolve();
        else reject(error);
      };
      const timer = setTimeout(() => finish(unavailable("no connection")), timeoutMs);
      this.#waiters.add(finish);
    });
  }

  /** In the order in which they came, so that calls keep theirs. */
  #open(error?: PlatformError): void {
    for (const finish of this.#waiters) finish(error);
  }
}
