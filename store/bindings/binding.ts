/**
 * What a typed binding of a script is, and how replies are read. A binding encodes arguments and
 * decodes the reply; it does not talk to the server.
 */
import { PlatformError } from "../../common/errors.ts";
import type { KeyName, Keys } from "../keys.ts";
import { ROUTING_KEYS } from "../keys.ts";

export interface Binding<Request, Result> {
  /** File in `lua/`, without ending. */
  readonly script: string;
  readonly keys: readonly KeyName[];
  /** Names of the arguments as in the header of the script; a test compares both. */
  readonly args: readonly string[];
  encode(request: Request, context: EncodeContext): string[];
  decode(reply: Reply, request: Request): Result;
}

export interface EncodeContext {
  readonly keys: Keys;
  /** Time in us for tests; `0` makes the script ask the server. */
  readonly now: string;
}

/** All that state changes may touch. */
export const STATE_KEYS: readonly KeyName[] = ROUTING_KEYS.slice(0, 11);
/** What the two hot calls and the ticket calls touch. */
export const REQUEST_KEYS: readonly KeyName[] = ROUTING_KEYS.slice(0, 9);

/** A reply of a script: a status word, then flat values, as a list or as lines of one text. */
export class Reply {
  readonly values: readonly unknown[];
  readonly #script: string;

  constructor(script: string, raw: unknown) {
    this.#script = script;
    const values = typeof raw === "string" ? raw.split("\n") : raw;
    if (!Array.isArray(values)) throw this.unexpected(raw);
    this.values = values;
  }

  get status(): string {
    return this.text(0);
  }

  get length(): number {
    return this.values.length;
  }

  text(index: number): string {
    const value = this.values[index];
    if (typeof value !== "string") throw this.unexpected(value, index);
    return value;
  }

  /** Whole or, when sent as text, fractional. */
  number(index: number): number {
    const value = Number(this.values[index] ?? Number.NaN);
    if (Number.isNaN(value)) throw this.unexpected(this.values[index], index);
    return value;
  }

  flag(index: number): boolean {
    return this.number(index) === 1;
  }

  texts(from: number): string[] {
    return this.values.slice(from).map((_, offset) => this.text(from + offset));
  }

  /** `length` values from `from` on, as a reply of their own. */
  part(from: number, length: number): Reply {
    return new Reply(this.#script, this.values.slice(from, from + length));
  }

  /** A nested row. */
  row(index: number): Reply {
    return new Reply(this.#script, this.values[index]);
  }

  unexpected(value: unknown = this.values, index = 0): PlatformError {
    return new PlatformError(
      "ERR_STORE_REPLY",
      `Script ${this.#script} answered ${JSON.stringify(value)} at ${index}; the scripts in the store are not those of this version`,
      { details: { script: this.#script } },
    );
  }
}

export const flag = (value: boolean): string => (value ? "1" : "0");
