/** One request of an HTTP/1.1 client: how its answer is written to Node's response. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ClientConnection, lingerAndClose, type OpenExchange } from "./client-connection.ts";
import { ClientExchange, answerBytes } from "./client-exchange.ts";
import { hasHeader } from "./headers.ts";
import { reasonPhrase } from "./http-lazy.ts";
import { sendableHeaders } from "./latin1.ts";
import type { ReadRequest } from "./request-head.ts";
import { RequestBody } from "./request-body.ts";
import { clientHeaders, switchHeadText, trailerPairs } from "./response-writer.ts";
import type { BodyFraming } from "./sides.ts";
import type { OwnAnswer, RequestHead, ResponseHead } from "./types.ts";
import type { Upstream } from "./upstream.ts";

/** A rest of a body up to this size is read off to keep the connection; else the answer closes it. */
const KEEPABLE_REST_BYTES = 65_536;
/** Bodies up to this size are joined to their head. */
const MAX_JOINED_BYTES = 4_096;
const NO_TRAILERS: readonly string[] = [];
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

export class Http1Exchange extends ClientExchange implements OpenExchange {
  readonly head: RequestHead;
  readonly body: RequestBody;
  protected readonly upgradeSpelling: string;
  #request: IncomingMessage;
  #response: ServerResponse;
  #context: ExchangeContext;
  #continueSent = false;
  #switched: Duplex | undefined;
  /** Body bytes that the announced length still allows; -1 for no announced length. */
  #lengthLeft = -1;
  #isWatchingDrain = false;

  constructor(read: ReadRequest, messages: NodeMessages, context: ExchangeContext) {
    super(context.upstream);
    const { request, response } = messages;
    this.head = read.head;
    this.upgradeSpelling = read.upgradeSpelling;
    this.#request = request;
    this.#response = response;
    this.#context = context;
    const isChunked = read.framing.kind === "chunked";
    this.body = new RequestBody(request, {
      framing: read.framing,
      replayBytes: context.replayBytes,
      trailers: () => (isChunked ? request.rawTrailers : NO_TRAILERS),
    });
    response.on("close", this.#onResponseClose);
    if (read.upgradeSpelling !== "") this.#watchBeforeSwitch();
  }

  get isBodyComplete(): boolean {
    return this.body.complete || this.#request.complete;
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

  sendChunk(bytes: Buffer): boolean {
    if (this.#lengthLeft === bytes.length && bytes.length <= MAX_JOINED_BYTES) {
      // As text the whole answer is one string for Node, and one plain write.
      this.#lengthLeft = 0;
      this.#response.end(bytes.toString("latin1"), "latin1");
      return true;
    }
    const { piece, isLent } = this.takePiece(bytes);
    const response = this.#response;
    if (this.#lengthLeft === bytes.length) {
      // The last piece: the end leaves with it.
      this.#lengthLeft = 0;
      response.end(piece);
      return !isLent;
    }
    if (this.#lengthLeft > 0) this.#lengthLeft -= bytes.length;
    const isFlowing = isLent ? response.write(piece, this.writtenPiece) : response.write(piece);
    if (!isFlowing && !this.#isWatchingDrain) {
      this.#isWatchingDrain = true;
      response.on("drain", this.onDrain);
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
    if (this.isClosed || socket.destroyed) return undefined;
    this.markAnswered();
    this.#switched = socket;
    this.#response.off("close", this.#onResponseClose);
    this.#response.detachSocket(socket);
    socket.off("end", this.#onEarlyEnd);
    socket.write(switchHeadText(head, headers), "latin1");
    socket.on("close", () => this.close());
    return socket;
  }

  destroyClient(): void {
    if (this.isClosed || this.#response.writableFinished) return;
    const { socket } = this.#context.connection;
    // What was answered so far still goes out; it may wait for the end of this tick.
    while (socket.writableCorked > 0) socket.uncork();
    // Without a length only a reset tells the client that the end is not the end of the answer.
    if (this.head.httpVersion === "1.0") resetConnection(socket);
    else if (this.#switched !== undefined || this.#response.socket !== null) socket.destroy();
    else this.#response.once("socket", () => socket.destroy());
  }

  refuseBody(answer: OwnAnswer): void {
    this.giveUp();
    if (this.isAnswered || this.#response.socket === null) {
      this.#context.connection.socket.destroy();
      return;
    }
    this.answer({ ...answer, close: true });
  }

  protected writeAnswer(answer: OwnAnswer): void {
    const body = answerBytes(answer);
    const headers = [...answer.headers, "Content-Length", String(body.length)];
    this.#closeAfterAnswer(headers, answer.close === true);
    writeHead(
      this.#response,
      { status: answer.status, text: reasonPhrase(answer.status) },
      headers,
    );
    this.#response.end(body);
    this.#readOffRest();
  }

  protected writeHead(head: ResponseHead, headers: readonly string[], framing: BodyFraming): void {
    this.#lengthLeft = framing.kind === "length" ? framing.length : -1;
    const list = clientHeaders(headers, head, { framing, request: this.head });
    this.#closeAfterAnswer(list, false);
    writeHead(this.#response, { status: head.status, text: head.statusText }, list);
    process.nextTick(flushHead, this.#response);
  }

  protected isBlocked(): boolean {
    return this.#response.writableNeedDrain;
  }

  protected onClosed(): void {
    this.#context.onClosed(this, this.#context.connection);
  }

  /** Adds what ends the connection after this answer, where it must end. */
  #closeAfterAnswer(headers: string[], wantsClose: boolean): void {
    const isBodyOpen = !this.isBodyComplete;
    const rest = this.head.contentLength;
    const isKeepable = !isBodyOpen || (rest >= 0 && rest <= KEEPABLE_REST_BYTES);
    // Node reads nothing behind a wish to switch that was not granted.
    const isDeaf = this.upgradeSpelling === "" && hasHeader(this.head.headers, "upgrade");
    const mustClose = wantsClose || !isKeepable || isDeaf || this.#context.isStopping();
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
      this.close();
      lingerAndClose(socket);
    });
  }

  readonly #onEarlyEnd = (): void => {
    this.#context.connection.socket.destroy();
  };

  readonly #onResponseClose = (): void => {
    if (!this.#response.writableFinished) this.giveUp();
    this.close();
  };
}

/** Node refuses what is no header text by throwing, which must not end the process. */
function writeHead(
  response: ServerResponse,
  line: { readonly status: number; readonly text: string },
  headers: readonly string[],
): void {
  try {
    response.writeHead(line.status, line.text, [...headers]);
  } catch (error) {
    if (response.headersSent) throw error;
    response.writeHead(line.status, reasonPhrase(line.status), [...sendableHeaders(headers)]);
  }
}

/** Without a last chunk only a reset says that the end is not the end; TLS has none to give. */
function resetConnection(socket: Socket): void {
  if ("encrypted" in socket) socket.destroy();
  else socket.resetAndDestroy();
}

function flushHead(response: ServerResponse): void {
  // An empty Buffer, because flushHeaders() would write latin1 header bytes as UTF-8.
  if (!response.writableEnded && !response.destroyed) response.write(NOTHING);
}
