/**
 * One connection of a client: which exchanges are open on it, in order, and how it is ended
 * without losing the answer that was just sent.
 */
import type { Socket } from "node:net";
import { withoutMapping } from "../common/peer-address.ts";
import { reasonPhrase } from "./http-lazy.ts";
import { sendableHeaders } from "./latin1.ts";
import type { OwnAnswer } from "./types.ts";

/** After an answer that ends the connection early: how long the client may go on sending. */
const LINGER_TOTAL_MS = 30_000;
const LINGER_SILENCE_MS = 5_000;
/** And how much it may send, which is read and thrown away. */
const LINGER_BYTES = 67_108_864;

/** An exchange as its connection sees it. */
export interface OpenExchange {
  readonly isBodyComplete: boolean;
  /** Its body turned out malformed: answer if nothing was sent, else cut. */
  refuseBody(answer: OwnAnswer): void;
}

export class ClientConnection {
  readonly socket: Socket;
  /** Read once: a socket forgets its peer when it closes. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly isEncrypted: boolean;
  readonly open = new Set<OpenExchange>();
  /** The last answer of this connection is decided: requests behind it are not served. */
  isClosing = false;
  #refusal: OwnAnswer | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    this.remoteAddress = withoutMapping(socket.remoteAddress ?? "");
    this.remotePort = socket.remotePort ?? 0;
    this.isEncrypted = "encrypted" in socket;
  }

  /** What arrived is no HTTP: answers after the exchanges that were read before it, and closes. */
  refuse(answer: OwnAnswer): void {
    this.isClosing = true;
    const broken = [...this.open].find((exchange) => !exchange.isBodyComplete);
    this.socket.pause();
    if (broken !== undefined) return broken.refuseBody(answer);
    this.#refusal = answer;
    this.#settle();
  }

  /** An exchange is over. */
  closed(exchange: OpenExchange): void {
    this.open.delete(exchange);
    this.#settle();
  }

  #settle(): void {
    if (this.#refusal === undefined || this.open.size > 0 || this.socket.destroyed) return;
    this.socket.write(rawAnswer(this.#refusal));
    this.#refusal = undefined;
    lingerAndClose(this.socket);
  }
}

/**
 * Ends our side and reads on for a bounded while: closing with unread bytes would reset the
 * connection, and the reset may overtake the answer.
 */
export function lingerAndClose(socket: Socket): void {
  if (socket.destroyed) return;
  // Node's parser must see nothing more: a request behind this answer is not to be served.
  socket.removeAllListeners("data");
  socket.removeAllListeners("end");
  let bytesLeft = LINGER_BYTES;
  const total = setTimeout(() => socket.destroy(), LINGER_TOTAL_MS);
  const silence = setTimeout(() => socket.destroy(), LINGER_SILENCE_MS);
  socket.on("close", () => {
    clearTimeout(total);
    clearTimeout(silence);
  });
  socket.on("data", (bytes: Buffer) => {
    bytesLeft -= bytes.length;
    silence.refresh();
    if (bytesLeft < 0) socket.destroy();
  });
  socket.on("end", () => socket.destroy());
  socket.end();
  socket.resume();
}

/** The bytes of an answer on a connection that has no response object any more. */
export function rawAnswer(answer: OwnAnswer): Buffer {
  const body = Buffer.from(answer.body);
  let head = `HTTP/1.1 ${answer.status} ${reasonPhrase(answer.status)}\r\n`;
  const headers = sendableHeaders(answer.headers);
  for (let i = 0; i < headers.length; i += 2) {
    head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  }
  head += `Date: ${new Date().toUTCString()}\r\nContent-Length: ${body.length}\r\n`;
  return Buffer.concat([Buffer.from(`${head}Connection: close\r\n\r\n`, "latin1"), body]);
}
