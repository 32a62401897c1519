/** A map for entries that come and go by the thousand each second; `churn-list.ts` says why. */
import { ChurnList, ListEntry } from "./churn-list.ts";

class KeyedEntry<V> extends ListEntry {
  readonly key: string;
  readonly hash: number;
  value: V;
  /** In the same bucket. */
  beside: KeyedEntry<V> | undefined;

  constructor(key: string, hash: number, value: V) {
    super();
    this.key = key;
    this.hash = hash;
    this.value = value;
  }
}

const FIRST_BUCKETS = 64;

/** The methods of `Map` for keys that are strings; iterates in the order of insertion. */
export class ChurnMap<V> {
  /** Their number is a power of 2, and only grows. */
  #buckets: (KeyedEntry<V> | undefined)[] = emptyBuckets(FIRST_BUCKETS);
  readonly #entries = new ChurnList<KeyedEntry<V>>();

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#find(key, hashOf(key))?.value;
  }

  has(key: string): boolean {
    return this.#find(key, hashOf(key)) !== undefined;
  }

  set(key: string, value: V): void {
    const hash = hashOf(key);
    const known = this.#find(key, hash);
    if (known !== undefined) {
      known.value = value;
      return;
    }
    if (this.size >= this.#buckets.length) this.#grow();
    const entry = new KeyedEntry(key, hash, value);
    this.#putInBucket(entry);
    this.#entries.add(entry);
  }

  /** False when there was none. */
  delete(key: string): boolean {
    const entry = this.#takeFromBucket(key, hashOf(key));
    return entry !== undefined && this.#entries.remove(entry);
  }

  *keys(): IterableIterator<string> {
    for (const { key } of this.#entries) yield key;
  }

  /** Entries may be set and deleted meanwhile. */
  *values(): IterableIterator<V> {
    for (const { value } of this.#entries) yield value;
  }

  #find(key: string, hash: number): KeyedEntry<V> | undefined {
    let entry = this.#buckets[hash & (this.#buckets.length - 1)];
    while (entry !== undefined && entry.key !== key) entry = entry.beside;
    return entry;
  }

  #putInBucket(entry: KeyedEntry<V>): void {
    const at = entry.hash & (this.#buckets.length - 1);
    entry.beside = this.#buckets[at];
    this.#buckets[at] = entry;
  }

  #takeFromBucket(key: string, hash: number): KeyedEntry<V> | undefined {
    const at = hash & (this.#buckets.length - 1);
    let previous: KeyedEntry<V> | undefined;
    let entry = this.#buckets[at];
    while (entry !== undefined && entry.key !== key) {
      previous = entry;
      entry = entry.beside;
    }
    if (entry === undefined) return undefined;
    if (previous === undefined) this.#buckets[at] = entry.beside;
    else previous.beside = entry.beside;
    entry.beside = undefined;
    return entry;
  }

  #grow(): void {
    this.#buckets = emptyBuckets(this.#buckets.length * 2);
    for (const entry of this.#entries) this.#putInBucket(entry);
  }
}

function emptyBuckets<V>(count: number): (KeyedEntry<V> | undefined)[] {
  return Array.from<KeyedEntry<V> | undefined>({ length: count }).fill(undefined);
}

/**
 * As FNV-1a, 32 bits, but of two UTF-16 units at a time: each multiplication waits for the one before.
 * The upper half, which the second unit reaches first, is folded into the bits that count.
 */
function hashOf(key: string): number {
  const { length } = key;
  let hash = 0x811c9dc5 ^ length;
  for (let i = 1; i < length; i += 2) {
    const pair = key.charCodeAt(i - 1) | (key.charCodeAt(i) << 16);
    hash = Math.imul(hash ^ pair, 0x01000193);
  }
  if (length % 2 === 1) hash = Math.imul(hash ^ key.charCodeAt(length - 1), 0x01000193);
  return hash ^ (hash >>> 16);
}
