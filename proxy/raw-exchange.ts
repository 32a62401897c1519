/**
 * One request of a client on the fast front: its answer is written straight to the socket, small
 * messages in one write, large pieces from the buffer that the upstream was read into.
 */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ClientExchange, answerBytes } from "./client-exchange.ts";
import { headerTokens } from "./headers.ts";
import { reasonPhrase } from "./http-lazy.ts";
import {
  answerHeadText,
  type AnswerEnd,
  CLOSE_LINE,
  informationText,
  lastChunkText,
} from "./raw-answer-head.ts";
import { RawRequestBody } from "./raw-request-body.ts";
import type { ReadRequest } from "./request-head.ts";
import { clientHeaders, switchHeadText } from "./response-writer.ts";
import type { BodyFraming } from "./sides.ts";
import { type LateWriter, writeAtTurnEnd } from "./turn-end.ts";
import type { OwnAnswer, RequestHead, ResponseHead } from "./types.ts";
import type { Upstream } from "./upstream.ts";

/** A rest of a body up to this size is read off to keep the connection; else the answer closes it. */
const KEEPABLE_REST_BYTES = 65_536;
/** Pieces up to this size are joined to what is written in the same turn. */
const MAX_JOINED_BYTES = 4_096;
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const LAST_CHUNK = lastChunkText([]);
const NOTHING = Buffer.alloc(0);

/** The connection, as its exchange sees it. */
export interface RawExchangeOwner {
  readonly socket: Socket;
  readonly upstream: Upstream;
  readonly replayBytes: number;
  readonly keepAliveLines: string;
  /** The front wants its connections to end. */
  readonly isStopping: boolean;
  /** The answer in progress is the last of this connection. */
  readonly isClosing: boolean;
  /** It stays open, and nothing behind the present request is here. */
  readonly isQuiet: boolean;
  onFlowChanged(): void;
  onBodyKept(): void;
  /** The answer in progress is the last of this connection. */
  closeAfterAnswer(): void;
  /** The socket is the caller's from now on; bytes that came early are given back to it. */
  handOver(): void;
  onExchangeClosed(exchange: RawExchange): void;
}

export class RawExchange extends ClientExchange implements LateWriter {
  readonly head: RequestHead;
  readonly body: RawRequestBody;
  protected readonly upgradeSpelling: string;
  #owner: RawExchangeOwner;
  /** Text that waits for the end of this turn, so that it leaves with what follows it. */
  #pending = "";
  /** Body behind that: small chunks that arrived together leave as one. */
  #pendingChunk = "";
  #isFlushPlanned = false;
  #end: AnswerEnd = "length";
  /** Body bytes that the announced length still allows; -1 for no announced length. */
  #lengthLeft = -1;
  #continueSent = false;
  #isAnswering = false;
  /** Nothing follows what waits for the end of this turn. */
  #isWhole = false;
  #isDone = false;
  #isSwitched = false;

  constructor(read: ReadRequest, owner: RawExchangeOwner) {
    super(owner.upstream);
    this.head = read.head;
    this.upgradeSpelling = read.upgradeSpelling;
    this.#owner = owner;
    this.body = new RawRequestBody({
      framing: read.framing,
      replayBytes: owner.replayBytes,
      onFlowChanged: () => owner.onFlowChanged(),
      onKept: () => owner.onBodyKept(),
    });
  }

  /** The answer was given to the socket as a whole. */
  get isDone(): boolean {
    return this.#isDone;
  }

  sendContinue(): void {
    if (!this.head.expectsContinue || this.#continueSent || !this.pristine) return;
    this.#continueSent = true;
    this.#owner.socket.write(CONTINUE, "latin1");
  }

  sendInformation(head: ResponseHead): void {
    if (this.head.httpVersion === "1.0" || !this.pristine) return;
    this.#owner.socket.write(informationText(head.status, head.statusText, head.headers), "latin1");
  }

  sendChunk(bytes: Buffer): boolean {
    if (this.isClosed) return true;
    if (this.#lengthLeft > 0) this.#lengthLeft -= bytes.length;
    if (bytes.length <= MAX_JOINED_BYTES) return this.#sendJoined(bytes.toString("latin1"));
    return this.#sendPiece(bytes);
  }

  sendEnd(trailers: readonly string[]): void {
    if (this.#end === "chunks" && !this.isClosed) {
      this.#closeChunk();
      this.#pending += trailers.length === 0 ? LAST_CHUNK : lastChunkText(trailers);
    }
    this.#finish();
  }

  sendUpgrade(head: ResponseHead, headers: readonly string[]): Duplex | undefined {
    const { socket } = this.#owner;
    if (this.isClosed || socket.destroyed) return undefined;
    this.markAnswered();
    this.#isSwitched = true;
    socket.write(switchHeadText(head, headers), "latin1");
    this.#owner.handOver();
    socket.on("close", () => this.close());
    return socket;
  }

  destroyClient(): void {
    if (this.isClosed || this.#isWhole) return;
    const { socket } = this.#owner;
    // What was answered so far still goes out.
    this.#flush();
    // Without a length only a reset tells the client that the end is not the end of the answer.
    if (this.#end === "close" && !this.#isSwitched && !("encrypted" in socket)) {
      socket.resetAndDestroy();
    } else socket.destroy();
  }

  /** The client is gone, or its connection broke. */
  lost(): void {
    if (!this.#isWhole) this.giveUp();
    this.close();
  }

  /** Its body turned out malformed: answered if nothing was sent, else cut. */
  refuseBody(answer: OwnAnswer): void {
    // Found while what was here of it was read off for an answer, which is as good as any.
    if (this.#isAnswering) return;
    this.giveUp();
    if (this.pristine) this.answer({ ...answer, close: true });
    else this.#owner.socket.destroy();
  }

  /** The socket takes bytes again. */
  socketDrained(): void {
    this.onDrain();
  }

  protected writeAnswer(answer: OwnAnswer): void {
    // What is here of the body is read off first, so that a small one does not end the connection.
    this.#isAnswering = true;
    this.body.drain();
    this.#isAnswering = false;
    const body = answerBytes(answer).toString("latin1");
    this.#pending = answerHeadText({
      status: answer.status,
      statusText: reasonPhrase(answer.status),
      headers: [...answer.headers, "Content-Length", String(body.length)],
      end: "length",
      connectionLines: this.#connectionLines("length", answer.close === true),
    });
    if (this.head.method !== "HEAD") this.#pending += body;
    this.#finish();
  }

  protected writeHead(head: ResponseHead, headers: readonly string[], framing: BodyFraming): void {
    this.#lengthLeft = framing.kind === "length" ? framing.length : -1;
    this.#end = this.#endOf(framing);
    this.#pending = answerHeadText({
      status: head.status,
      statusText: head.statusText,
      headers: clientHeaders(headers, head, { framing, request: this.head }),
      end: this.#end,
      connectionLines: this.#connectionLines(this.#end, false),
    });
    this.#planFlush();
  }

  protected isBlocked(): boolean {
    return this.#owner.socket.writableNeedDrain;
  }

  protected onClosed(): void {
    this.#owner.onExchangeClosed(this);
  }

  /** An HTTP/1.0 client knows no chunks: the end of the connection tells the end of the answer. */
  #endOf(framing: BodyFraming): AnswerEnd {
    if (framing.kind === "none" || framing.kind === "length") return "length";
    return this.head.httpVersion === "1.0" ? "close" : "chunks";
  }

  /** Says whether the connection goes on, and keeps to it. */
  #connectionLines(end: AnswerEnd, wantsClose: boolean): string {
    const isKept = !wantsClose && end !== "close" && this.#isKeepable();
    if (isKept) return this.#owner.keepAliveLines;
    this.#owner.closeAfterAnswer();
    return CLOSE_LINE;
  }

  #isKeepable(): boolean {
    const { isStopping, isClosing } = this.#owner;
    if (isStopping || isClosing || this.upgradeSpelling !== "") return false;
    const rest = this.head.contentLength;
    const isRestSmall = rest >= 0 && rest <= KEEPABLE_REST_BYTES;
    return (this.body.complete || isRestSmall) && wantsKeepAlive(this.head);
  }

  #sendJoined(text: string): boolean {
    if (this.#end === "chunks") this.#pendingChunk += text;
    else this.#pending += text;
    this.#planFlush();
    return !this.isBlocked();
  }

  #sendPiece(bytes: Buffer): boolean {
    const { socket } = this.#owner;
    const { piece, isLent } = this.takePiece(bytes);
    const isChunk = this.#end === "chunks";
    const before = isChunk ? `${bytes.length.toString(16)}\r\n` : "";
    socket.cork();
    this.#closeChunk();
    this.#pending += before;
    this.#flush();
    if (isLent) socket.write(piece, this.writtenPiece);
    else socket.write(piece);
    if (isChunk) socket.write("\r\n", "latin1");
    socket.uncork();
    // Written at once, as usual: nobody reads from the lent bytes any more.
    return socket.writableLength === 0 || (!isLent && !this.isBlocked());
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    writeAtTurnEnd(this);
  }

  writeNow(): void {
    this.#isFlushPlanned = false;
    this.#flush();
    if (this.#isWhole && !this.#isDone) this.#settle();
  }

  #closeChunk(): void {
    const text = this.#pendingChunk;
    if (text === "") return;
    this.#pendingChunk = "";
    this.#pending += `${text.length.toString(16)}\r\n${text}\r\n`;
  }

  #flush(): void {
    this.#closeChunk();
    if (this.#pending === "") return;
    const text = this.#pending;
    this.#pending = "";
    this.#owner.socket.write(text, "latin1");
  }

  /** Only where nothing but the next request can follow it does an answer wait. */
  #finish(): void {
    this.#isWhole = true;
    if (this.body.complete && this.#owner.isQuiet) this.#planFlush();
    else this.writeNow();
  }

  #settle(): void {
    this.#isDone = true;
    const { socket } = this.#owner;
    if (!this.body.complete) this.body.drain();
    if (socket.writableLength === 0 || socket.destroyed) this.close();
    else socket.write(NOTHING, () => this.close());
  }
}

function wantsKeepAlive(head: RequestHead): boolean {
  const tokens = headerTokens(head.headers, "connection");
  if (head.httpVersion === "1.0") return tokens.includes("keep-alive");
  return !tokens.includes("close");
}
