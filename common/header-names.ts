/**
 * A fixed set of header names, each with what it stands for. Most headers of a message are none of
 * them, and are told apart by length and first letter: their letters are never lowered or hashed,
 * which on the way of a request costs more than what is then done with them.
 */

const LENGTHS = 64;
const LETTERS = 32;

export class HeaderNames<T> {
  readonly #values: ReadonlyMap<string, T>;
  readonly #mayHold = new Uint8Array(LENGTHS * LETTERS);

  /** Names in lower case. */
  constructor(entries: Iterable<readonly [name: string, value: T]>) {
    this.#values = new Map(entries);
    for (const name of this.#values.keys()) this.#mayHold[cellOf(name)] = 1;
  }

  /** By a name in any spelling. */
  get(name: string): T | undefined {
    if (this.#mayHold[cellOf(name)] === 0) return undefined;
    return this.#values.get(name) ?? this.#values.get(name.toLowerCase());
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }
}

/** Both cases of a letter share its last five bits. */
function cellOf(name: string): number {
  return (name.length % LENGTHS) * LETTERS + (name.charCodeAt(0) & (LETTERS - 1));
}

export function headerNames(names: Iterable<string>): HeaderNames<true> {
  return new HeaderNames([...names].map((name) => [name, true] as const));
}
