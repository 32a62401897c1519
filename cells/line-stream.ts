/** Messages over a socket, one JSON object per line; both ends of a control stream use it. */
import type { Duplex } from "node:stream";
import type { ControlMessage } from "../common/contracts/cells.ts";

/** Longest line: a part of a whole digest is far shorter. */
const MAX_LINE_BYTES = 1_048_576;
/** Beyond this the receiver is too slow: what can be sent again later is left out. */
const MAX_BACKLOG_BYTES = 1_048_576;

export interface LineListener {
  onMessage(message: ControlMessage): void;
  onClose(): void;
}

export class LineStream {
  readonly #socket: Duplex;
  readonly #listener: LineListener;
  #rest = "";
  #isClosed = false;

  constructor(socket: Duplex, listener: LineListener) {
    this.#socket = socket;
    this.#listener = listener;
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => this.#read(text));
    // Its close follows.
    socket.on("error", () => undefined);
    socket.on("end", () => this.close());
    socket.on("close", () => this.#closed());
  }

  /** The receiver does not keep up. */
  get isBehind(): boolean {
    return this.#socket.writableLength > MAX_BACKLOG_BYTES;
  }

  send(message: ControlMessage): void {
    if (!this.#isClosed) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  close(): void {
    this.#socket.destroy();
    this.#closed();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE_BYTES) return this.close();
    for (const line of lines) {
      if (this.#isClosed) return;
      const message = parse(line);
      // A peer that does not speak this protocol is of no use.
      if (message === null) return this.close();
      this.#listener.onMessage(message);
    }
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listener.onClose();
  }
}

function parse(line: string): ControlMessage | null {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null || !("kind" in value)) return null;
    // Written by the other end of the same protocol; unknown kinds are skipped by the listener.
    return value as ControlMessage;
  } catch {
    return null;
  }
}
