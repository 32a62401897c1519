/**
 * What the autoscaler writes to the store about each revision, read in small batches and kept, so
 * that a snapshot never waits for it. The page and `explain` read the same.
 */
import { decodeRecords } from "../../autoscaler/decision-log.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { errorText } from "../../common/errors.ts";
import { parseKnowledge } from "../../common/hexgen/knowledge.ts";
import type { Logger } from "../../foundation/logger.ts";
import type { StoreHandle } from "../../store/store.ts";
import type { ScalingRecords } from "./facts.ts";

/** Decisions are news for people; the figures beside them are read each second. */
const EVERY_MS = 2_000;
const BATCH = 16;

export interface RecordKeeperOptions {
  readonly store: Pick<StoreHandle, "store" | "knowledge">;
  /** Whose records are wanted at present. */
  readonly keys: () => readonly RevisionKey[];
  readonly logger: Logger;
}

export class RecordKeeper {
  readonly #options: RecordKeeperOptions;
  #records = new Map<RevisionKey, ScalingRecords>();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: RecordKeeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      // A slow store is never asked twice at once.
      this.#reading ??= this.#readAll().finally(() => {
        this.#reading = undefined;
      });
    }, EVERY_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }

  of(key: RevisionKey): ScalingRecords | undefined {
    return this.#records.get(key);
  }

  async read(key: RevisionKey): Promise<ScalingRecords> {
    const { store, knowledge } = this.#options.store;
    const [texts, learnt] = await Promise.all([
      store.readDecisions(key),
      knowledge.readKnowledge(key),
    ]);
    return { decisions: decodeRecords(texts, key), learnt: parseKnowledge(learnt) };
  }

  async #readAll(): Promise<void> {
    const { keys, logger } = this.#options;
    const wanted = keys();
    const next = new Map<RevisionKey, ScalingRecords>();
    try {
      for (let first = 0; first < wanted.length; first += BATCH) {
        const batch = wanted.slice(first, first + BATCH);
        const read = await Promise.all(batch.map((key) => this.read(key)));
        batch.forEach((key, index) => {
          const records = read[index];
          if (records !== undefined) next.set(key, records);
        });
      }
      this.#records = next;
    } catch (error) {
      // The old ones stay; the page says by itself that the store is away.
      logger.debug("records of the autoscaler not read", { error: errorText(error) });
    }
  }
}
