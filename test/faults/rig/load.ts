/**
 * A steady load: so many requests per second, whatever becomes of them, each through the next
 * activator. POST, so that none of them may be processed twice.
 */
import { Agent, request } from "node:http";
import type { Ledger } from "./ledger.ts";
import { CALLER_PATIENCE_MS, HOST, REQUEST_ID } from "./settings.ts";

const BODY = "what the container works on";
const TICK_MS = 10;

export interface Entry {
  readonly name: string;
  readonly dataUrl: string;
}

export class Load {
  readonly #ledger: Ledger;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 64 });
  #entries: readonly Entry[] = [];
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Activators that take requests from now on. */
  use(entries: readonly Entry[]): void {
    this.#entries = entries;
  }

  start(perSecond: number): void {
    const startedAt = performance.now();
    const before = this.#count;
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond);
      while (this.#count - before < due) this.#send();
    }, TICK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  close(): void {
    this.stop();
    this.#agent.destroy();
  }

  #send(): void {
    const entry = this.#entries[this.#count % this.#entries.length];
    this.#count += 1;
    if (entry !== undefined) this.#post(entry, `r${this.#count}`);
  }

  #post(entry: Entry, id: string): void {
    const sent = this.#ledger.send(id, entry.name);
    const ended = (status: number, reason: string): void => {
      if (sent.endedAt > 0) return;
      sent.endedAt = performance.now();
      sent.status = status;
      sent.reason = reason;
    };
    const outgoing = request(
      `${entry.dataUrl}/`,
      {
        method: "POST",
        agent: this.#agent,
        timeout: CALLER_PATIENCE_MS,
        headers: { host: HOST, "content-length": String(BODY.length), [REQUEST_ID]: id },
      },
      (response) => {
        const { statusCode = 0, headers } = response;
        response.resume();
        response.once("end", () => ended(statusCode, String(headers["pilotlight-reason"] ?? "")));
        response.once("close", () => ended(0, "answer cut"));
      },
    );
    outgoing.once("timeout", () => outgoing.destroy(new Error("no answer in time")));
    outgoing.once("error", (error) => ended(0, error.message));
    outgoing.end(BODY);
  }
}
