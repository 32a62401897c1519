/**
 * How the fast front reads a client's connection: into buffers of ours, as connections to upstreams
 * are read. For an accepted connection Node makes a buffer of 64 KiB per read and shortens it
 * afterwards, which costs more than all else that is done to read a request. Its way around that
 * (`onread`) is open only to sockets that are made by hand, so a socket of our own takes the
 * connection over from the one that the server made. Encrypted connections stay ordinary streams.
 */
import { type BoundSocket, type OnReadOpts, Socket } from "node:net";
import { ReadBuffer } from "./read-buffers.ts";

const SHARED_BYTES = 65_536;
/** Heads and small bodies of all connections go through it, since nothing stays in it. */
const shared = Buffer.allocUnsafeSlow(SHARED_BYTES);

/** The connection, as its reads see it. */
export interface ReadsOwner {
  /** More of a body is to come, which is read into a buffer of this connection. */
  readonly expectsMore: boolean;
  /** Bytes that do not last are valid until the return, unless `keep` is called before it. */
  onBytes(bytes: Buffer, isLasting: boolean): void;
}

/** Fields of a socket that Node's types leave out; both are as old as its streams. */
interface HandleHolder {
  _handle: { readonly useUserBuffer?: unknown } | null;
}

export class ClientReads {
  readonly socket: Socket;
  #owner: ReadsOwner;
  /** Made for the first long body. */
  #own: ReadBuffer | undefined;
  #isOwn = false;
  #isKept = false;
  #isStream = false;

  constructor(accepted: Socket, owner: ReadsOwner, highWaterMark: number) {
    this.#owner = owner;
    const onread = { buffer: this.#nextBuffer, callback: this.#onRead };
    const taken = takeOver(accepted, { onread, highWaterMark });
    this.socket = taken ?? accepted;
    if (taken === undefined) accepted.on("data", this.#onData);
  }

  /** What is being read lies in a buffer of this connection, so that `keep` may be called. */
  get canKeep(): boolean {
    return this.#isOwn;
  }

  /** Somebody still writes from the bytes that are being read: their buffer is left to them. */
  keep(): void {
    this.#isKept = true;
    this.#own?.giveAway();
  }

  /** From here on an ordinary stream, for whoever takes the socket over. */
  release(): void {
    this.#isStream = true;
    this.socket.off("data", this.#onData);
  }

  readonly #nextBuffer = (): Buffer => {
    this.#isOwn = !this.#isStream && this.#owner.expectsMore;
    if (!this.#isOwn) {
      this.#own?.settle();
      return shared;
    }
    return (this.#own ?? this.#makeOwn()).bytes;
  };

  #makeOwn(): ReadBuffer {
    const own = new ReadBuffer();
    this.#own = own;
    this.socket.on("close", () => own.release());
    return own;
  }

  readonly #onRead = (count: number, buffer: Uint8Array): boolean => {
    // Node hands back the very Buffer that it was given.
    const bytes = (buffer as Buffer).subarray(0, count);
    if (this.#isStream) return this.socket.push(Buffer.from(bytes));
    this.#isKept = false;
    this.#owner.onBytes(bytes, false);
    if (this.#isOwn && !this.#isKept) this.#own?.filled(count);
    return true;
  };

  readonly #onData = (bytes: Buffer): void => this.#owner.onBytes(bytes, true);
}

/** A socket over the connection of another one, which is left without; undefined where that cannot be. */
function takeOver(
  accepted: Socket,
  { onread, highWaterMark }: { readonly onread: OnReadOpts; readonly highWaterMark: number },
): Socket | undefined {
  const holder = accepted as unknown as HandleHolder;
  const handle = holder._handle;
  if ("encrypted" in accepted || typeof handle?.useUserBuffer !== "function") return undefined;
  holder._handle = null;
  accepted.destroy();
  const options = {
    // Node takes any handle; its types name only one that is not connected yet.
    handle: handle as unknown as BoundSocket,
    onread,
    allowHalfOpen: true,
    readableHighWaterMark: highWaterMark,
    writableHighWaterMark: highWaterMark,
  };
  return new Socket(options);
}
