/**
 * A call of a function of the library as one text. All that stays the same over the calls of one
 * script on one revision, most of the bytes, is put together once instead of argument by argument.
 */
import { Command } from "ioredis";
import type { RevisionKey } from "../common/contracts/routing.ts";
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

/** Heads kept of one script at most; a bound, since revisions come and go. */
const MOST_CACHED = 32_768;

export class ScriptHeads {
  readonly #keys: Keys;
  readonly #library: ScriptLibrary;
  readonly #heads = new Map<string, Map<RevisionKey, ScriptHead>>();

  constructor(keys: Keys, library: ScriptLibrary) {
    this.#keys = keys;
    this.#library = library;
  }

  of({ script, keys }: Script, revision: RevisionKey): ScriptHead {
    let ofScript = this.#heads.get(script);
    if (ofScript === undefined) this.#heads.set(script, (ofScript = new Map()));
    let head = ofScript.get(revision);
    if (head === undefined) {
      if (ofScript.size >= MOST_CACHED) ofScript.clear();
      const names = keys.map((name) => this.#keys.one(revision, name));
      head = scriptHead(this.#library.functionName(script), names);
      ofScript.set(revision, head);
    }
    return head;
  }
}

function scriptHead(functionName: string, keys: readonly string[]): ScriptHead {
  const values = ["fcall", functionName, String(keys.length), ...keys];
  return { count: values.length, text: values.map(bulk).join(""), key: keys[0] ?? "" };
}

export class ScriptCommand extends Command {
  readonly #head: ScriptHead;
  readonly #rest: readonly string[];

  constructor(head: ScriptHead, rest: readonly string[]) {
    super("fcall", [], { replyEncoding: "utf8" });
    this.#head = head;
    this.#rest = rest;
  }

  override toWritable(): string {
    const { count, text } = this.#head;
    let result = `*${count + this.#rest.length}\r\n${text}`;
    for (const value of this.#rest) result += bulk(value);
    return result;
  }

  override getKeys(): string[] {
    return [this.#head.key];
  }
}

/** A bulk string of RESP. */
function bulk(value: string): string {
  return `$${Buffer.byteLength(value)}\r\n${value}\r\n`;
}
