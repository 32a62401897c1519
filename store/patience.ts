/**
 * Sends what may fail for a while: waits for the connection, loads the library when the server does
 * not have it, repeats within the deadline what another node or another moment may allow.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { PlatformError, errorText } from "../common/errors.ts";
import {
  isFunctionMissing,
  isRetriable,
  primariesOf,
  retryDelayMs,
  unavailable,
} from "./client.ts";
import type { ClientOptions, StoreClient } from "./client.ts";
import type { ScriptLibrary } from "./load-scripts.ts";
import { ReadyGate } from "./ready-gate.ts";

/** A try that failed, and when it was begun, by `performance.now()`. */
interface Failed {
  readonly error: unknown;
  readonly begunAt: number;
}

export type PatienceOptions = Pick<ClientOptions, "random" | "timeoutMs">;

export class Patience {
  readonly #loader: Loader;
  readonly #gate: ReadyGate;
  readonly #options: PatienceOptions;

  constructor(client: StoreClient, library: ScriptLibrary, options: PatienceOptions) {
    // After the loader, which starts to load before those who waited go on.
    this.#loader = createLoader(client, library);
    this.#gate = new ReadyGate(client);
    this.#options = options;
  }

  /** Connected, and the library is loaded. */
  async ready(): Promise<void> {
    await this.#gate.wait(this.#options.timeoutMs);
    await this.#loader.load();
  }

  /** Calls made while the library loads wait for it, so that they keep their order. */
  send<Result>(send: () => Promise<Result>): Promise<Result> {
    const isReady = this.#gate.isOpen && this.#loader.loading === null;
    if (!isReady) return this.#repeat(send);
    // The usual case pays for no patience.
    const begunAt = performance.now();
    return send().catch((error: unknown) => this.#repeat(send, { error, begunAt }));
  }

  async #repeat<Result>(send: () => Promise<Result>, failed?: Failed): Promise<Result> {
    const deadlineAt = (failed?.begunAt ?? performance.now()) + this.#options.timeoutMs;
    if (failed !== undefined) await this.#recover(failed.error, 1, deadlineAt);
    for (let attempt = failed === undefined ? 1 : 2; ; attempt += 1) {
      try {
        if (!this.#gate.isOpen) await this.#gate.wait(deadlineAt - performance.now());
        if (this.#loader.loading !== null) await this.#loader.loading;
        return await send();
      } catch (error) {
        await this.#recover(error, attempt, deadlineAt);
      }
    }
  }

  /** Returns when another try may help, with the library in place or after a pause; else throws. */
  async #recover(error: unknown, attempt: number, deadlineAt: number): Promise<void> {
    if (error instanceof PlatformError) throw error;
    if (isFunctionMissing(error)) {
      await this.#loader.load().catch(ignoreRetriable);
    } else if (!isRetriable(error)) {
      throw refused(error);
    } else {
      const leftMs = Math.max(0, deadlineAt - performance.now());
      await delay(Math.min(retryDelayMs(attempt, this.#options.random), leftMs));
    }
    if (performance.now() >= deadlineAt) throw unavailable(errorText(error), error);
  }
}

function ignoreRetriable(error: unknown): void {
  if (!isRetriable(error)) throw refused(error);
}

function refused(cause: unknown): PlatformError {
  return new PlatformError("ERR_STORE_REPLY", `The store refused a call: ${errorText(cause)}`, {
    cause,
  });
}

interface Loader {
  /** Set while the library is on its way. */
  readonly loading: Promise<void> | null;
  load(): Promise<void>;
}

/**
 * Loads the library on each connect and when it is missing, on every primary; concurrent callers
 * share one load.
 */
function createLoader(client: StoreClient, library: ScriptLibrary): Loader {
  let loading: Promise<void> | null = null;

  const send = async (): Promise<void> => {
    try {
      await Promise.all(primariesOf(client).map((primary) => loadInto(primary, library)));
    } finally {
      loading = null;
    }
  };
  const load = (): Promise<void> => (loading ??= send());
  // A failure here shows again at the first call.
  client.on("ready", () => void load().catch(() => undefined));

  return {
    get loading() {
      return loading;
    },
    load,
  };
}

async function loadInto(primary: Redis, library: ScriptLibrary): Promise<void> {
  try {
    await primary.function("LOAD", library.source);
  } catch (error) {
    if (!errorText(error).includes("already exists")) throw error;
  }
}
