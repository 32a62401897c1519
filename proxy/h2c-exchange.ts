/** One request of an h2c client: how its answer is written to an HTTP/2 stream. */
import type { ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { ClientExchange, answerBytes } from "./client-exchange.ts";
import { answerFields, fieldObject, regularFields } from "./h2-headers.ts";
import { INTERNAL_ERROR, NO_ERROR } from "./http2-lazy.ts";
import { RequestBody } from "./request-body.ts";
import type { BodyFraming } from "./sides.ts";
import type { OwnAnswer, RequestHead, ResponseHead } from "./types.ts";
import type { Upstream } from "./upstream.ts";

/** HTTP/2 as Node writes it has no statuses beyond this. */
const MAX_STATUS = 599;

export interface H2cExchangeContext {
  readonly upstream: Upstream;
  readonly replayBytes: number;
  onClosed(): void;
}

export class H2cExchange extends ClientExchange {
  readonly head: RequestHead;
  readonly body: RequestBody;
  protected readonly upgradeSpelling = "";
  #stream: ServerHttp2Stream;
  #context: H2cExchangeContext;
  #trailersUp: readonly string[] = [];
  #trailersDown: readonly string[] = [];
  #continueSent = false;
  #isComplete = false;
  #isWatchingDrain = false;

  constructor(
    read: { readonly head: RequestHead; readonly framing: BodyFraming },
    stream: ServerHttp2Stream,
    context: H2cExchangeContext,
  ) {
    super(context.upstream);
    this.head = read.head;
    this.#stream = stream;
    this.#context = context;
    this.body = new RequestBody(stream, {
      framing: read.framing,
      replayBytes: context.replayBytes,
      trailers: () => this.#trailersUp,
    });
    stream.on("trailers", (_headers, _flags, fields) => {
      this.#trailersUp = regularFields(fields);
    });
    stream.on("wantTrailers", () => {
      // Node ends the writable side also of a stream that is cut: only trailers would complete it.
      if (!this.#isComplete) return;
      stream.sendTrailers(fieldObject(this.#trailersDown));
      this.#endRequest();
    });
    stream.on("close", () => {
      if (!stream.writableFinished || isBroken(stream.rstCode)) this.giveUp();
      this.close();
    });
  }

  sendContinue(): void {
    if (!this.head.expectsContinue || this.#continueSent || !this.#isOpen) return;
    this.#continueSent = true;
    this.#stream.additionalHeaders({ ":status": 100 });
  }

  sendInformation(head: ResponseHead): void {
    if (!this.pristine || !this.#isOpen) return;
    this.#stream.additionalHeaders({ ":status": head.status, ...fieldObject(head.headers) });
  }

  sendChunk(bytes: Buffer): boolean {
    if (!this.#isOpen) return true;
    const { piece, isLent } = this.takePiece(bytes);
    const stream = this.#stream;
    const isFlowing = isLent ? stream.write(piece, this.writtenPiece) : stream.write(piece);
    if (!isFlowing && !this.#isWatchingDrain) {
      this.#isWatchingDrain = true;
      stream.on("drain", this.onDrain);
    }
    return isFlowing && !isLent;
  }

  sendEnd(trailers: readonly string[]): void {
    this.#isComplete = true;
    this.#trailersDown = trailers;
    this.#stream.end();
  }

  sendUpgrade(): Duplex | undefined {
    return undefined;
  }

  destroyClient(): void {
    if (!this.isClosed) this.#stream.close(INTERNAL_ERROR);
  }

  protected writeAnswer(answer: OwnAnswer): void {
    if (!this.#isOpen) return;
    const body = answerBytes(answer);
    const headers = [...answer.headers, "content-length", String(body.length)];
    const isEmpty = body.length === 0 || this.head.method === "HEAD";
    this.#stream.respond(answerFields(answer.status, headers), { endStream: isEmpty });
    if (isEmpty) this.#endRequest();
    else this.#stream.end(body, () => this.#endRequest());
  }

  protected writeHead(head: ResponseHead, headers: readonly string[], framing: BodyFraming): void {
    if (!this.#isOpen) return;
    if (head.status > MAX_STATUS) return this.destroyClient();
    const isEmpty = framing.kind === "none" || this.head.method === "HEAD";
    this.#stream.respond(answerFields(head.status, headers), {
      endStream: isEmpty,
      waitForTrailers: !isEmpty,
    });
    if (isEmpty) this.#endRequest();
  }

  protected isBlocked(): boolean {
    return this.#stream.writableNeedDrain;
  }

  protected onClosed(): void {
    this.#context.onClosed();
  }

  get #isOpen(): boolean {
    return !this.#stream.destroyed && !this.#stream.closed;
  }

  /** After an answer: a request that is still coming is not wanted any more (RFC 9113 8.1). */
  #endRequest(): void {
    if (!this.body.complete) this.#stream.close(NO_ERROR);
  }
}

function isBroken(code: number | undefined): boolean {
  return code !== undefined && code !== NO_ERROR;
}
