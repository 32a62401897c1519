/**
 * What was learnt of revisions and classes, as read from the store: asked for while used, never
 * waited for. A request takes what is there; the next one has the newer.
 */
import type { Clock } from "../common/clock.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { ClassKnowledge, RevisionKnowledge } from "../common/hexgen/knowledge.ts";
import { NOTHING_KNOWN, parseClassKnowledge, parseKnowledge } from "../common/hexgen/knowledge.ts";
import type { KnowledgeStore } from "../store/knowledge.ts";

/** As often as the autoscaler writes. */
const REFRESH_MS = 2_000;
/** Names of classes come from callers: a bound for what they may make us keep. */
const MOST_KEPT = 1_024;

interface Kept<T> {
  value: T;
  askedAt: number;
}

export class KnowledgeCache {
  readonly #store: KnowledgeStore;
  readonly #clock: Clock;
  readonly #revisions = new Map<string, Kept<RevisionKnowledge>>();
  readonly #classes = new Map<string, Kept<ClassKnowledge | undefined>>();

  constructor(store: KnowledgeStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  ofRevision(key: RevisionKey): RevisionKnowledge {
    return this.#keep(this.#revisions, key, {
      empty: NOTHING_KNOWN,
      read: async () => parseKnowledge(await this.#store.readKnowledge(key)) ?? NOTHING_KNOWN,
    });
  }

  /** `undefined` while nothing is known; a call without a class has none. */
  ofClass(namespace: string, workflowClass: string): ClassKnowledge | undefined {
    if (workflowClass === "") return undefined;
    return this.#keep(this.#classes, `${namespace}/${workflowClass}`, {
      empty: undefined,
      read: async () => parseClassKnowledge(await this.#store.readClass(namespace, workflowClass)),
    });
  }

  #keep<T>(
    kept: Map<string, Kept<T>>,
    key: string,
    source: { readonly empty: T; readonly read: () => Promise<T> },
  ): T {
    const now = this.#clock.now();
    let entry = kept.get(key);
    if (entry === undefined) {
      if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value ?? "");
      entry = { value: source.empty, askedAt: Number.NEGATIVE_INFINITY };
      kept.set(key, entry);
    }
    if (now - entry.askedAt < REFRESH_MS) return entry.value;
    const asked = entry;
    asked.askedAt = now;
    source.read().then(
      (value) => (asked.value = value),
      // The store is away: what was known still holds.
      () => {},
    );
    return asked.value;
  }
}
