/**
 * The socket of an upstream connection: reads into a reused buffer, reads on after a failed write,
 * and can be turned into an ordinary stream after a protocol switch.
 */
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ReadBuffer } from "./read-buffers.ts";
import type { UpstreamRequest } from "./sides.ts";

/** After a failed write: how long the rest of what the upstream had sent may take to be read. */
const READ_ON_MS = 1_000;

export interface UpstreamSocketEvents {
  onConnect(): void;
  /**
   * The bytes are valid until the return only. `pause` stops reading; whoever still writes from
   * them says so by `lend` first, and they stay valid until `resume`.
   */
  onBytes(bytes: Buffer): void;
  onEnd(): void;
  onError(error: NodeJS.ErrnoException): void;
  onClose(): void;
  onDrain(): void;
}

export class UpstreamSocket {
  readonly socket: Socket;
  #events: UpstreamSocketEvents;
  #buffer = new ReadBuffer();
  /** Encrypted bytes come in buffers of their own, and are read as an ordinary stream is. */
  readonly #isDialed: boolean;
  #isPaused = false;
  #isSwitched = false;
  #isWriteBroken = false;
  #isDestroyed = false;
  #readOnTimer: NodeJS.Timeout | undefined;

  constructor(request: UpstreamRequest, events: UpstreamSocketEvents) {
    this.#events = events;
    const { dialer } = request;
    this.#isDialed = dialer !== undefined;
    this.socket = dialer?.dial(request) ?? this.#connect(request);
    this.#readOnAfterFailedWrite();
    this.socket.on(this.#isDialed ? "secureConnect" : "connect", () => events.onConnect());
    if (this.#isDialed) this.socket.on("data", this.#onData);
    this.socket.on("end", this.#onEnd);
    this.socket.on("error", this.#onError);
    this.socket.on("close", this.#onClose);
    this.socket.on("drain", this.#onDrain);
  }

  get isWritable(): boolean {
    return !this.#isDestroyed && !this.#isWriteBroken && this.socket.writable;
  }

  get isUsable(): boolean {
    return this.isWritable && !this.socket.readableEnded && !this.#isPaused;
  }

  /** No more reads until `resume`; bytes already given stay valid until then. */
  pauseLent(): void {
    this.#isPaused = true;
    if (this.#isDialed) this.socket.pause();
    else this.#buffer.lend();
  }

  resume(): void {
    this.#buffer.returned();
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (!this.#isDestroyed) this.socket.resume();
  }

  /** The answer is complete: the next one is read into a buffer that nobody writes from. */
  settle(): void {
    this.#buffer.settle();
    this.resume();
  }

  destroy(): void {
    this.#isDestroyed = true;
    clearTimeout(this.#readOnTimer);
    this.socket.destroy();
  }

  /** The socket as an ordinary stream; events come here no more. */
  switchToStream(): Duplex {
    const { socket } = this;
    this.#isSwitched = true;
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("error", this.#onError);
    socket.off("close", this.#onClose);
    socket.off("drain", this.#onDrain);
    this.#buffer.release();
    socket.pause();
    return socket;
  }

  #connect({ host, port, localAddress }: UpstreamRequest): Socket {
    return connect({
      host,
      port,
      noDelay: true,
      // Half-close is the parser's business here, and the tunnel's after a switch.
      allowHalfOpen: true,
      onread: { buffer: this.#nextBuffer, callback: this.#onRead },
      ...(localAddress === "" ? {} : { localAddress }),
    });
  }

  readonly #nextBuffer = (): Buffer => this.#buffer.bytes;

  readonly #onRead = (count: number, buffer: Uint8Array): boolean => {
    // Node hands back the very Buffer that it was given.
    const bytes = (buffer as Buffer).subarray(0, count);
    if (this.#isSwitched) return this.socket.push(Buffer.from(bytes));
    this.#readOnTimer?.refresh();
    this.#events.onBytes(bytes);
    this.#buffer.filled(count);
    return !this.#isPaused;
  };

  readonly #onData = (bytes: Buffer): void => {
    this.#readOnTimer?.refresh();
    this.#events.onBytes(bytes);
  };

  readonly #onEnd = (): void => this.#events.onEnd();
  readonly #onError = (error: NodeJS.ErrnoException): void => this.#events.onError(error);
  readonly #onDrain = (): void => this.#events.onDrain();
  readonly #onClose = (): void => {
    clearTimeout(this.#readOnTimer);
    this.#buffer.release();
    this.#events.onClose();
  };

  /**
   * An upstream that answers early and closes makes our writes fail while its answer still lies
   * unread in the kernel. Node would destroy the socket and lose it, so a failed write only ends
   * the writing. Its streams are marked broken then and tell no end, hence the timer.
   */
  #readOnAfterFailedWrite(): void {
    const { socket } = this;
    const destroy = socket.destroy.bind(socket);
    socket.destroy = (error?: Error) => {
      const isWriteFailure = error !== undefined && "syscall" in error && error.syscall === "write";
      const canReadOn = isWriteFailure && !this.#isSwitched && !this.#isDestroyed;
      if (!canReadOn || this.#isWriteBroken) return destroy(error);
      this.#isWriteBroken = true;
      this.#readOnTimer = setTimeout(this.#onReadOnOver, READ_ON_MS);
      return socket;
    };
  }

  readonly #onReadOnOver = (): void => {
    // A client that reads slowly keeps the rest waiting; it is not lost.
    if (this.#isPaused) this.#readOnTimer?.refresh();
    else this.#events.onEnd();
  };
}
