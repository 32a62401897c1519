/**
 * Log of one child on disk, bounded: at the limit the file becomes `NAME.1` and a new one begins.
 * The last lines also stay in memory, so that a failed start can show the child's last words.
 */
import { closeSync, openSync, renameSync, writeSync } from "node:fs";

const MAX_BYTES = 4 * 1024 * 1024;
const LAST_LINES = 20;
const MAX_LINE_LENGTH = 500;

export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #file: number;
  #bytes = 0;
  #lines: string[] = [];
  #rest = "";

  constructor(path: string, maxBytes = MAX_BYTES) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#file = open(path);
  }

  write(chunk: Buffer): void {
    this.#remember(chunk.toString("utf8"));
    this.#append(chunk);
  }

  /** The platform's own note in the log, e.g. that the child is started again. */
  note(text: string): void {
    this.#append(Buffer.from(`--- ${text}\n`));
  }

  /** Forgets the words of an earlier life. */
  newLife(): void {
    this.#lines = [];
    this.#rest = "";
  }

  lastWords(count = 5): string {
    const lines = this.#rest === "" ? this.#lines : [...this.#lines, this.#rest];
    return lines.slice(-count).join("\n");
  }

  /** What is written later (a grandchild that held the pipe) is dropped. */
  close(): void {
    if (this.#file >= 0) closeSync(this.#file);
    this.#file = -1;
  }

  #append(chunk: Buffer): void {
    if (this.#file < 0) return;
    if (this.#bytes + chunk.length > this.#maxBytes) this.#rotate();
    this.#bytes += chunk.length;
    try {
      writeSync(this.#file, chunk);
    } catch {
      // A full disk costs log lines, not pods.
    }
  }

  #remember(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = (lines.pop() ?? "").slice(0, MAX_LINE_LENGTH);
    const kept = lines.filter((line) => line.trim() !== "");
    this.#lines = [...this.#lines, ...kept.map((line) => line.slice(0, MAX_LINE_LENGTH))];
    this.#lines = this.#lines.slice(-LAST_LINES);
  }

  #rotate(): void {
    this.close();
    try {
      renameSync(this.#path, `${this.#path}.1`);
      this.#file = open(this.#path);
    } catch {
      // The folder was removed under us at the end of a run: nothing left to keep.
    }
    this.#bytes = 0;
  }
}

function open(path: string): number {
  return openSync(path, "a", 0o600);
}
