/**
 * One control stream to another cell, kept for the life of the process: opened again when it ends,
 * asked all the time whether it still stands, and given up when nothing came for 3 s.
 */
import type { TLSSocket } from "node:tls";
import { CONTROL_PROTOCOL } from "../common/contracts/cells.ts";
import type { ControlMessage, ControlRequest } from "../common/contracts/cells.ts";
import type { Random } from "../common/random.ts";
import type { Certificates } from "./certificates.ts";
import type { CellEntry } from "./core/cell-entry.ts";
import { LineStream } from "./line-stream.ts";

const PING_EVERY_MS = 250;
/** A stream on which nothing came for so long is half open, whatever the kernel says. */
const SILENCE_MS = 3_000;
const CONNECT_MS = 3_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1_000;

export interface ControlClientOptions {
  readonly certificates: Certificates;
  readonly own: string;
  /** Of this process. */
  readonly name: string;
  readonly digests: boolean;
  /** Requests enter at this process. */
  readonly entry: boolean;
  readonly random: Random;
  /** Monotonic, ms. */
  readonly now: () => number;
  readonly onMessage: (message: ControlMessage) => void;
  readonly onRoundTrip?: (ms: number) => void;
  readonly onOpen?: () => void;
  readonly onLost?: () => void;
}

export class ControlClient {
  readonly #options: ControlClientOptions;
  #cell: CellEntry;
  #stream: LineStream | undefined;
  #socket: TLSSocket | undefined;
  #heardAt = Number.NEGATIVE_INFINITY;
  #openedAt = 0;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(cell: CellEntry, options: ControlClientOptions) {
    this.#cell = cell;
    this.#options = options;
  }

  /** Something came within the time in which a stream counts as alive. */
  get isHeard(): boolean {
    return this.#options.now() - this.#heardAt <= SILENCE_MS;
  }

  start(): void {
    this.#timer = setInterval(() => this.#beat(), PING_EVERY_MS);
    this.#timer.unref();
    this.#connect();
  }

  /** The cell moved; the stream to its old place ends. */
  use(cell: CellEntry): void {
    const moved = cell.peer !== this.#cell.peer;
    this.#cell = cell;
    if (moved) this.#stream?.close();
  }

  send(message: ControlRequest): boolean {
    if (this.#stream === undefined) return false;
    this.#stream.send(message);
    return true;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    clearTimeout(this.#again);
    this.#stream?.close();
    this.#socket?.destroy();
  }

  #connect(): void {
    const { certificates } = this.#options;
    const { name: cell, peer } = this.#cell;
    const colon = peer.lastIndexOf(":");
    const host = peer.slice(0, colon).replace(/^\[|\]$/g, "");
    const port = Number(peer.slice(colon + 1));
    this.#openedAt = this.#options.now();
    const socket = certificates.dial({ cell, host, port, protocol: CONTROL_PROTOCOL });
    this.#socket = socket;
    socket.once("secureConnect", () => this.#opened(socket));
    socket.on("error", () => undefined);
    socket.once("close", () => {
      if (this.#socket === socket) this.#lost();
    });
  }

  #opened(socket: TLSSocket): void {
    const { own, name, digests, entry, now, onOpen } = this.#options;
    this.#heardAt = now();
    this.#stream = new LineStream(socket, {
      onMessage: (message) => this.#onMessage(message),
      onClose: () => undefined,
    });
    this.#stream.send({ kind: "hello", cell: own, name, digests, entry });
    this.#stream.send({ kind: "ping", at: now() });
    onOpen?.();
  }

  #onMessage(message: ControlMessage): void {
    const { now, onMessage, onRoundTrip } = this.#options;
    this.#heardAt = now();
    this.#failures = 0;
    if (message.kind === "pong") onRoundTrip?.(this.#heardAt - message.at);
    else onMessage(message);
  }

  #beat(): void {
    const now = this.#options.now();
    const isOpen = this.#stream !== undefined;
    const isSilent = isOpen
      ? now - this.#heardAt > SILENCE_MS
      : this.#socket !== undefined && now - this.#openedAt > CONNECT_MS;
    if (isSilent) this.#socket?.destroy();
    else this.#stream?.send({ kind: "ping", at: now });
  }

  #lost(): void {
    const wasOpen = this.#stream !== undefined;
    this.#stream = undefined;
    this.#socket = undefined;
    if (wasOpen) this.#options.onLost?.();
    if (this.#isClosed) return;
    const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#again = setTimeout(() => this.#connect(), pauseMs * (0.5 + this.#options.random()));
    this.#again.unref();
  }
}
