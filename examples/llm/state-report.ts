/**
 * Tells the sidecar what the container knows best: whether the model is loaded, and how many
 * requests it works on. The newest report wins; one is under way at a time, and it is repeated
 * until it arrives.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** Where a sidecar listens when nothing else is said. */
const DEFAULT_STATE_URL = "http://127.0.0.1:8022/state";
const RETRY_MS = 200;
const TIMEOUT_MS = 2_000;

export interface State {
  readonly state: "loading" | "ready" | "paused";
  readonly running: number;
  /** Of these, not begun. */
  readonly waiting: number;
  readonly kvFreeTokens: number;
}

export class StateReport {
  readonly #url: string | undefined;
  readonly #stopping = new AbortController();
  #wanted: State | undefined;
  #busy = false;

  /** Without a platform around (no `K_REVISION`), nobody is told. */
  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#url = env["PILOTLIGHT_STATE_URL"] ?? (env["K_REVISION"] ? DEFAULT_STATE_URL : undefined);
  }

  tell(state: State): void {
    this.#wanted = state;
    if (!this.#busy && this.#url !== undefined) void this.#send(this.#url);
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #send(url: string): Promise<void> {
    this.#busy = true;
    while (this.#wanted !== undefined && !this.#stopping.signal.aborted) {
      const state = this.#wanted;
      if (!(await this.#put(url, state))) {
        await sleep(RETRY_MS, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      } else if (this.#wanted === state) {
        this.#wanted = undefined;
      }
    }
    this.#busy = false;
  }

  async #put(url: string, state: State): Promise<boolean> {
    try {
      const response = await fetch(url, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(state),
        signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      await response.arrayBuffer();
      return response.ok;
    } catch {
      return false;
    }
  }
}
