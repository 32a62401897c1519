/**
 * Log of one child on disk, bounded: at the limit the file becomes `NAME.1` and a new one begins.
 * The last lines also stay in memory, so that a failed start can show the child's last words.
 */
import { createWriteStream, renameSync } from "node:fs";
import type { WriteStream } from "node:fs";

const MAX_BYTES = 4 * 1024 * 1024;
const LAST_LINES = 20;
const MAX_LINE_LENGTH = 500;

export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #stream: WriteStream;
  #bytes = 0;
  #lines: string[] = [];
  #rest = "";

  constructor(path: string, maxBytes = MAX_BYTES) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#stream = open(path);
  }

  write(chunk: Buffer): void {
    this.#remember(chunk.toString("utf8"));
    if (this.#bytes + chunk.length > this.#maxBytes) this.#rotate();
    this.#bytes += chunk.length;
    this.#stream.write(chunk);
  }

  /** The platform's own note in the log, e.g. that the child is started again. */
  note(text: string): void {
    const line = Buffer.from(`--- ${text}\n`);
    this.#bytes += line.length;
    this.#stream.write(line);
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

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#stream.end(() => resolve()));
  }

  #remember(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = (lines.pop() ?? "").slice(0, MAX_LINE_LENGTH);
    const kept = lines.filter((line) => line.trim() !== "");
    this.#lines = [...this.#lines, ...kept.map((line) => line.slice(0, MAX_LINE_LENGTH))];
    this.#lines = this.#lines.slice(-LAST_LINES);
  }

  #rotate(): void {
    this.#stream.end();
    try {
      renameSync(this.#path, `${this.#path}.1`);
    } catch {
      // The folder was removed under us at the end of a run: nothing left to keep.
    }
    this.#stream = open(this.#path);
    this.#bytes = 0;
  }
}

function open(path: string): WriteStream {
  const stream = createWriteStream(path, { flags: "a", mode: 0o600 });
  stream.on("error", () => undefined);
  return stream;
}
