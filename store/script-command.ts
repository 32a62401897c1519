/**
 * A call of a function of the library as one text. All that stays the same over the calls of one
 * script on one revision, most of the bytes, is put together once instead of argument by argument.
 */
import { Command } from "ioredis";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { CallClock } from "./call-clock.ts";
import type { KeyName, Keys } from "./keys.ts";
import type { ScriptLibrary } from "./load-scripts.ts";

/** The part that stays the same: command, name of the function, keys. */
export interface ScriptHead {
  /** Values so far, the command included. */
  readonly count: number;
  readonly text: string;
  /** Names the slot; all keys of a script share it. */
  readonly key: string;
}

interface Script {
  readonly script: string;
  readonly keys: readonly KeyName[];
}

/** Lists of keys kept of one kind at most; a bound, since revisions come and go. */
const MOST_CACHED = 32_768;

/** The keys of a revision, in the form of the wire. */
interface KeyText {
  readonly text: string;
  readonly first: string;
}

export class ScriptHeads {
  readonly #keys: Keys;
  readonly #library: ScriptLibrary;
  /** Scripts with the same keys share them: this is what grows with revisions. */
  readonly #texts = new Map<readonly KeyName[], Map<RevisionKey, KeyText>>();
  readonly #calls = new Map<string, string>();

  constructor(keys: Keys, library: ScriptLibrary) {
    this.#keys = keys;
    this.#library = library;
  }

  of({ script, keys }: Script, revision: RevisionKey): ScriptHead {
    const { text, first } = this.#keyText(keys, revision);
    let call = this.#calls.get(script);
    if (call === undefined) {
      const values = ["fcall", this.#library.functionName(script), String(keys.length)];
      call = values.map(bulk).join("");
      this.#calls.set(script, call);
    }
    return { count: 3 + keys.length, text: call + text, key: first };
  }

  #keyText(keys: readonly KeyName[], revision: RevisionKey): KeyText {
    let ofKind = this.#texts.get(keys);
    if (ofKind === undefined) this.#texts.set(keys, (ofKind = new Map()));
    let found = ofKind.get(revision);
    if (found === undefined) {
      if (ofKind.size >= MOST_CACHED) ofKind.clear();
      const names = keys.map((name) => this.#keys.one(revision, name));
      found = { text: names.map(bulk).join(""), first: names[0] ?? "" };
      ofKind.set(revision, found);
    }
    return found;
  }
}

export class ScriptCommand extends Command {
  readonly #head: ScriptHead;
  readonly #rest: readonly string[];
  readonly #clock: CallClock;
  #isTimed = false;

  constructor(head: ScriptHead, rest: readonly string[], clock: CallClock) {
    super("fcall", [], { replyEncoding: "utf8" });
    this.#head = head;
    this.#rest = rest;
    this.#clock = clock;
  }

  /** Called by the client each time it sends the call; the first time counts. */
  override setTimeout(limitMs: number): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    this.#clock.begin(this, limitMs);
  }

  override toWritable(): string {
    const { count, text } = this.#head;
    const head = `*${count + this.#rest.length}\r\n${text}`;
    return (
      head + (isOfBytes(this.#rest) ? bulksOfBytes(this.#rest) : this.#rest.map(bulk).join(""))
    );
  }

  override getKeys(): string[] {
    return [this.#head.key];
  }
}

/** Whether all values have as many bytes as characters; asked once, since the question has its price. */
function isOfBytes(values: readonly string[]): boolean {
  let all = "";
  for (const value of values) all += value;
  return Buffer.byteLength(all) === all.length;
}

function bulksOfBytes(values: readonly string[]): string {
  let text = "";
  for (const value of values) text += `$${value.length}\r\n${value}\r\n`;
  return text;
}

/** A bulk string of RESP. */
function bulk(value: string): string {
  return `$${Buffer.byteLength(value)}\r\n${value}\r\n`;
}
