/**
 * One request of an HTTP/1.1 client, from its head to its end: what the handler sees of it
 * (Exchange) and what its attempts need of it (ClientSide).
 */
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ForwardedAttempt } from "./attempt.ts";
import { type ClientConnection, lingerAndClose, type OpenExchange } from "./client-connection.ts";
import type { ReadRequest } from "./request-head.ts";
import { RequestBody } from "./request-body.ts";
import { clientHeaders, switchHeadText, trailerPairs } from "./response-writer.ts";
import type { BodyFraming, ClientSide } from "./sides.ts";
import type {
  Attempt,
  Exchange,
  OwnAnswer,
  RequestHead,
  ResponseHead,
  RunningAttempt,
} from "./types.ts";
import type { Upstream } from "./upstream.ts";
import { CLOSE_GOING_AWAY } from "./websocket-close.ts";

/** A rest of a body up to this size is read off to keep the connection; else the answer closes it. */
const KEEPABLE_REST_BYTES = 65_536;
/** Up to this size a copy is cheaper than waiting for the write (measured). */
const MAX_COPIED_BYTES = 16_384;
const NOTHING = Buffer.alloc(0);

/** What the front gives each exchange. */
export interface ExchangeContext {
  readonly connection: ClientConnection;
  readonly upstream: Upstream;
  readonly replayBytes: number;
  /** The front wants its connections to end. */
  isStopping(): boolean;
  onClosed(exchange: Http1Exchange, connection: ClientConnection): void;
}

/** The two messages as Node hands them out. */
export interface NodeMessages {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class Http1Exchange implements Exchange, ClientSide, OpenExchange {
  readonly head: RequestHead;
  readonly receivedAt = performance.now();
  readonly body: RequestBody;
  #request: IncomingMessage;
  #response: ServerResponse;
  #context: ExchangeContext;
  #upgradeSpelling: string;
  #attempt: ForwardedAttempt | undefined;
  #isAttemptRunning = false;
  #isAnswered = false;
  #isClosed = false;
  #clientGone = false;
  #continueSent = false;
  #switched: Duplex | undefined;
  #goneListener: (() => void) | undefined;
  /** Body bytes that the announced length still allows; -1 for no announced length. */
  #lengthLeft = -1;
  #isWatchingDrain = false;
  /** Pieces that Node still writes from the upstream's read buffer. */
  #lent = 0;

  constructor(read: ReadRequest, messages: NodeMessages, context: ExchangeContext) {
    this.head = read.head;
    this.#upgradeSpelling = read.upgradeSpelling;
    this.#request = messages.request;
    this.#response = messages.response;
    this.#context = context;
    this.body = new RequestBody(messages.request, read.framing, context.replayBytes);
    messages.response.on("close", this.#onResponseClose);
    if (read.upgradeSpelling !== "") this.#watchBeforeSwitch();
  }

  get clientGone(): boolean {
    return this.#clientGone;
  }

  get pristine(): boolean {
    return !this.#isAnswered && !this.#isClosed;
  }

  get replayable(): boolean {
    return this.body.replayable;
  }

  get isBodyComplete(): boolean {
    return this.body.complete || this.#request.complete;
  }

  onClientGone(listener: () => void): void {
    if (this.#clientGone) listener();
    else this.#goneListener = listener;
  }

  answer(answer: OwnAnswer): void {
    if (!this.pristine) throw new Error("An answer was already begun: answer() came too late");
    this.#isAnswered = true;
    const body = Buffer.from(answer.body);
    const headers = [...answer.headers, "Content-Length", String(body.length)];
    this.#closeAfterAnswer(headers, answer.close === true);
    this.#response.writeHead(answer.status, STATUS_CODES[answer.status] ?? "", headers);
    this.#response.end(body);
    this.#readOffRest();
  }

  forward(attempt: Attempt): RunningAttempt {
    if (this.#isAttemptRunning) throw new Error("forward() while another attempt runs");
    if (!this.pristine) throw new Error("forward() after an answer was begun");
    if (!this.replayable) throw new Error("forward() after more was sent than is held");
    const running = new ForwardedAttempt(attempt, {
      client: this,
      upstream: this.#context.upstream,
      upgrade: this.#upgradeSpelling,
    });
    this.#attempt = running;
    this.#isAttemptRunning = true;
    running.start();
    return running;
  }

  cut(websocketCloseCode = CLOSE_GOING_AWAY): void {
    if (this.#attempt === undefined) this.destroyClient();
    else this.#attempt.cut(websocketCloseCode);
  }

  attemptEnded(): void {
    this.#isAttemptRunning = false;
  }

  sendContinue(): void {
    if (!this.head.expectsContinue || this.#continueSent || !this.pristine) return;
    this.#continueSent = true;
    this.#response.writeContinue();
  }

  sendInformation(head: ResponseHead): void {
    if (this.head.httpVersion === "1.0" || !this.pristine) return;
    this.#response.writeInformation(head.status, [...head.headers]);
  }

  sendHead(head: ResponseHead, headers: readonly string[], framing: BodyFraming): void {
    this.#isAnswered = true;
    this.#lengthLeft = framing.kind === "length" ? framing.length : -1;
    const list = clientHeaders(headers, head, { framing, request: this.head });
    this.#closeAfterAnswer(list, false);
    this.#response.writeHead(head.status, head.statusText, list);
    process.nextTick(flushHead, this.#response);
  }

  sendChunk(bytes: Buffer): boolean {
    // Node writes later, and the bytes are valid now: small pieces are copied, large ones lent.
    const isLent = bytes.length > MAX_COPIED_BYTES;
    const piece = isLent ? bytes : Buffer.from(bytes);
    if (isLent) this.#lent += 1;
    const response = this.#response;
    if (this.#lengthLeft === bytes.length) {
      // The last piece: head, body and end leave in one write where they can.
      this.#lengthLeft = 0;
      response.end(piece);
      return !isLent;
    }
    if (this.#lengthLeft > 0) this.#lengthLeft -= bytes.length;
    const isFlowing = isLent ? response.write(piece, this.#onWritten) : response.write(piece);
    if (!isFlowing && !this.#isWatchingDrain) {
      this.#isWatchingDrain = true;
      response.on("drain", this.#onDrain);
    }
    return isFlowing && !isLent;
  }

  sendEnd(trailers: readonly string[]): void {
    const response = this.#response;
    if (trailers.length > 0 && response.chunkedEncoding) {
      response.addTrailers(trailerPairs(trailers));
    }
    if (!response.writableEnded) response.end();
    this.#readOffRest();
  }

  sendUpgrade(head: ResponseHead, headers: readonly string[]): Duplex | undefined {
    const { socket } = this.#context.connection;
    if (this.#isClosed || socket.destroyed) return undefined;
    this.#isAnswered = true;
    this.#switched = socket;
    this.#response.off("close", this.#onResponseClose);
    this.#response.detachSocket(socket);
    socket.off("end", this.#onEarlyEnd);
    socket.write(switchHeadText(head, headers), "latin1");
    socket.on("close", () => this.#close());
    return socket;
  }

  destroyClient(): void {
    if (this.#isClosed || this.#response.writableFinished) return;
    const { socket } = this.#context.connection;
    // What was answered so far still goes out; it may wait for the end of this tick.
    while (socket.writableCorked > 0) socket.uncork();
    // Without a length only a reset tells the client that the end is not the end of the answer.
    if (this.head.httpVersion === "1.0") socket.resetAndDestroy();
    else if (this.#switched !== undefined || this.#response.socket !== null) socket.destroy();
    else this.#response.once("socket", () => socket.destroy());
  }

  refuseBody(answer: OwnAnswer): void {
    this.#giveUp();
    if (this.#isAnswered || this.#response.socket === null) {
      this.#context.connection.socket.destroy();
      return;
    }
    this.answer({ ...answer, close: true });
  }

  /** Adds what ends the connection after this answer, where it must end. */
  #closeAfterAnswer(headers: string[], wantsClose: boolean): void {
    const isBodyOpen = !this.isBodyComplete;
    const rest = this.head.contentLength;
    const isKeepable = !isBodyOpen || (rest >= 0 && rest <= KEEPABLE_REST_BYTES);
    const mustClose = wantsClose || !isKeepable || this.#context.isStopping();
    if (!mustClose) return;
    this.#context.connection.isClosing = true;
    headers.push("Connection", "close");
    if (!isBodyOpen) return;
    const { socket } = this.#context.connection;
    socket.destroySoon = () => lingerAndClose(socket);
  }

  #readOffRest(): void {
    if (!this.body.complete) this.body.drain();
  }

  /** Node took its hands off the connection: its end and its errors are ours to see. */
  #watchBeforeSwitch(): void {
    const { socket } = this.#context.connection;
    socket.on("end", this.#onEarlyEnd);
    this.#response.on("finish", () => {
      this.#response.detachSocket(socket);
      this.#close();
      lingerAndClose(socket);
    });
  }

  readonly #onEarlyEnd = (): void => {
    this.#context.connection.socket.destroy();
  };

  readonly #onDrain = (): void => {
    if (this.#lent === 0) this.#attempt?.clientDrained();
  };

  readonly #onWritten = (): void => {
    this.#lent -= 1;
    if (this.#lent === 0 && !this.#response.writableNeedDrain) this.#attempt?.clientDrained();
  };

  readonly #onResponseClose = (): void => {
    if (!this.#response.writableFinished) this.#giveUp();
    this.#close();
  };

  /** The client is gone, or said something that ends its request. */
  #giveUp(): void {
    if (this.#clientGone) return;
    this.#clientGone = true;
    this.#attempt?.clientGone();
    this.#goneListener?.();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#context.onClosed(this, this.#context.connection);
  }
}

function flushHead(response: ServerResponse): void {
  // An empty Buffer, because flushHeaders() would write latin1 header bytes as UTF-8.
  if (!response.writableEnded && !response.destroyed) response.write(NOTHING);
}
