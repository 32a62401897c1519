/**
 * Names of headers, which compare without regard to case. Most headers of a message are none of those
 * that somebody looks for, and are told apart by length and letters: lowering or hashing a name costs
 * more than what is then done with it.
 */

const LENGTHS = 64;
const LETTERS = 32;
/** What tells the two cases of a letter apart; lower case has it. */
const CASE_BIT = 32;
const LETTER_A = 97;
const LETTER_Z = 122;

/** Whether two header names are the same; `lower` must be lower case already. */
export function isHeaderName(name: string, lower: string): boolean {
  if (name.length !== lower.length) return false;
  for (let i = 0; i < lower.length; i += 1) {
    const wanted = lower.charCodeAt(i);
    const found = name.charCodeAt(i);
    if (found === wanted) continue;
    const isLetter = wanted >= LETTER_A && wanted <= LETTER_Z;
    if (!isLetter || (found | CASE_BIT) !== wanted) return false;
  }
  return true;
}

interface Known<T> {
  readonly name: string;
  readonly value: T;
}

/** A fixed set of names, each with what it stands for. */
export class HeaderNames<T> {
  /** By length and first letter. */
  readonly #cells: (Known<T>[] | undefined)[] = Array.from({ length: LENGTHS * LETTERS });

  /** Names in lower case; of equal ones the last counts. */
  constructor(entries: Iterable<readonly [name: string, value: T]>) {
    for (const [name, value] of new Map(entries)) {
      (this.#cells[cellOf(name)] ??= []).push({ name, value });
    }
  }

  /** By a name in any spelling. */
  get(name: string): T | undefined {
    const cell = this.#cells[cellOf(name)];
    if (cell === undefined) return undefined;
    for (const known of cell) {
      if (isHeaderName(name, known.name)) return known.value;
    }
    return undefined;
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
