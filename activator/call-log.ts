/**
 * The call log on its way to the store: entries are gathered, sent in batches, and dropped rather
 * than kept when the store is away. Nothing waits for it.
 */
import type { LogEntry } from "../common/contracts/call-log.ts";
import { encodeLogEntry } from "../common/contracts/call-log.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Logger } from "../foundation/logger.ts";
import type { KnowledgeStore } from "../store/knowledge.ts";

const FLUSH_MS = 500;
const BATCH = 256;
/** Entries of one revision that wait for the store; beyond it the newest are dropped. */
const MOST_WAITING = 2_048;

export class CallLog {
  readonly #store: KnowledgeStore;
  readonly #logger: Logger;
  readonly #waiting = new Map<RevisionKey, string[]>();
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;

  constructor(store: KnowledgeStore, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /** Entries that found no room. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Text of its metric. */
  render(): string {
    const series = "pilotlight_call_log_dropped_total";
    return [
      `# HELP ${series} Ended calls and samples that found no way into the call log.`,
      `# TYPE ${series} counter`,
      `${series} ${this.#dropped}`,
      "",
    ].join("\n");
  }

  add(revision: RevisionKey, entry: LogEntry): void {
    const waiting = this.#waiting.get(revision) ?? [];
    this.#waiting.set(revision, waiting);
    if (waiting.length >= MOST_WAITING) {
      this.#dropped += 1;
      return;
    }
    waiting.push(encodeLogEntry(entry));
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Sends what waits; also the last word of a process that stops. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batches = [...this.#waiting];
    this.#waiting.clear();
    await Promise.all(batches.map(([revision, entries]) => this.#send(revision, entries)));
  }

  async #send(revision: RevisionKey, entries: readonly string[]): Promise<void> {
    try {
      for (let from = 0; from < entries.length; from += BATCH) {
        await this.#store.appendCalls(revision, entries.slice(from, from + BATCH));
      }
    } catch (error) {
      this.#dropped += entries.length;
      this.#logger.debug("call log not written", { revision, error });
    }
  }
}
