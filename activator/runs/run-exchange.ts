/**
 * A stored run as an exchange: for the dispatch it is a request like any other, only that no
 * connection stands behind it. Its body comes from the store when a slot was found, its answer is
 * collected up to a limit.
 */
import type { Duplex } from "node:stream";
import type { RunRequest } from "../../common/contracts/async-runs.ts";
import { ClientExchange } from "../../proxy/client-exchange.ts";
import type { BodyFraming, BodySink, BodySource } from "../../proxy/sides.ts";
import type {
  Attempt,
  AttemptEnd,
  OwnAnswer,
  RequestHead,
  ResponseHead,
  RunningAttempt,
} from "../../proxy/types.ts";
import type { Upstream } from "../../proxy/upstream.ts";

/** How a run ended here. */
export interface RunEnd {
  /** 0: the answer broke off, or none came. */
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
  /** The body was larger than the limit and is not here. */
  readonly tooLarge: boolean;
}

export interface RunExchangeOptions {
  readonly request: RunRequest;
  readonly headers: readonly string[];
  readonly upstream: Upstream;
  /** Bytes of the body, as it was accepted. */
  readonly bodyBytes: number;
  readonly mostAnswerBytes: number;
  /** Called before each attempt; null: the run is another's now. */
  readonly start: () => Promise<Buffer | null>;
  /** An attempt ended of which no container saw anything, and another will follow. */
  readonly onUndelivered: () => void;
  /** The run cannot start from here: it is another's, or the store did not say. */
  readonly onLost: (why: "taken-over" | "store-away") => void;
  /** Called once, unless the run was given up or lost. */
  readonly onEnd: (end: RunEnd) => void;
}

export class RunExchange extends ClientExchange {
  readonly head: RequestHead;
  readonly body: RunBody;
  protected readonly upgradeSpelling = "";
  readonly #options: RunExchangeOptions;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #answer: { readonly status: number; readonly headers: readonly string[] } | undefined;
  #isOver = false;

  constructor(options: RunExchangeOptions) {
    super(options.upstream);
    this.#options = options;
    this.head = headOf(options);
    this.body = new RunBody(options.bodyBytes);
  }

  /** Nobody waits for it here any more: it ends without a word. */
  abandon(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.giveUp();
    this.close();
  }

  override forward(attempt: Attempt): RunningAttempt {
    let running: RunningAttempt | undefined;
    const observed: Attempt = { ...attempt, onEnd: (end) => this.#attemptEnded(attempt, end) };
    void this.#options.start().then(
      (body) => {
        if (body === null || this.#isOver) return this.#lost(attempt, "taken-over");
        this.body.fill(body);
        running = super.forward(observed);
      },
      () => this.#lost(attempt, "store-away"),
    );
    return {
      cancel: () => running?.cancel(),
      get bytesUp() {
        return running?.bytesUp ?? 0;
      },
      get bytesDown() {
        return running?.bytesDown ?? 0;
      },
    };
  }

  sendContinue(): void {
    // Nobody waits for it: the body is here.
  }

  sendInformation(): void {
    // Interim answers are for those who wait.
  }

  sendChunk(bytes: Buffer): boolean {
    this.#bytes += bytes.length;
    if (this.#bytes <= this.#options.mostAnswerBytes) this.#pieces.push(Buffer.from(bytes));
    else this.#pieces = [];
    return true;
  }

  sendEnd(): void {
    const { status, headers } = this.#answer ?? { status: 0, headers: [] };
    this.#finish({ status, headers });
  }

  sendUpgrade(): Duplex | undefined {
    return undefined;
  }

  destroyClient(): void {
    // The answer broke off; what came of it is no answer.
    this.#pieces = [];
    this.#finish({ status: 0, headers: [] });
  }

  protected writeAnswer(answer: OwnAnswer): void {
    this.sendChunk(Buffer.from(answer.body));
    this.#finish({ status: answer.status, headers: answer.headers });
  }

  protected writeHead(head: ResponseHead, headers: readonly string[]): void {
    this.#answer = { status: head.status, headers };
  }

  protected isBlocked(): boolean {
    return false;
  }

  protected onClosed(): void {
    this.#pieces = [];
  }

  #attemptEnded(attempt: Attempt, end: AttemptEnd): void {
    // Said first: the next attempt says that it starts.
    if (isUndelivered(end) && !this.#isOver) this.#options.onUndelivered();
    attempt.onEnd(end);
  }

  /** Taken over by another activator, or the store is away: nothing was delivered from here. */
  #lost(attempt: Attempt, why: "taken-over" | "store-away"): void {
    const wasOver = this.#isOver;
    this.abandon();
    attempt.onEnd({ kind: "client-gone", status: 0 });
    if (!wasOver) this.#options.onLost(why);
  }

  #finish(answer: { readonly status: number; readonly headers: readonly string[] }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const tooLarge = this.#bytes > this.#options.mostAnswerBytes;
    const body = Buffer.concat(this.#pieces);
    this.close();
    this.#options.onEnd({ ...answer, body, tooLarge });
  }
}

function headOf({ request, headers, bodyBytes }: RunExchangeOptions): RequestHead {
  const { method, target, httpVersion, host, remoteAddress } = request;
  return {
    method,
    target,
    httpVersion,
    headers,
    host,
    remoteAddress,
    remotePort: 0,
    upgrade: "",
    expectsContinue: false,
    contentLength: bodyBytes,
  };
}

/** A sidecar that lost its container in mid-request answers 502: that one may have seen it. */
function isUndelivered(end: AttemptEnd): boolean {
  if (end.kind === "intercepted") return end.status === 421 || end.status === 503;
  return end.kind === "connect-failed";
}

/** The whole body, at hand from the start of an attempt on. */
class RunBody implements BodySource {
  readonly framing: BodyFraming;
  readonly complete = true;
  readonly replayable = true;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(length: number) {
    this.framing = length === 0 ? { kind: "none" } : { kind: "length", length };
  }

  fill(bytes: Buffer): void {
    this.#bytes = bytes;
  }

  start(sink: BodySink): void {
    if (this.#bytes.length > 0) sink.chunk(this.#bytes);
    sink.end([]);
  }

  resume(): void {
    // Given at once, as a whole.
  }

  keep(): void {
    // Nobody reads into these bytes.
  }

  stop(): void {
    // Nothing flows.
  }

  forget(): void {
    // What was sent may be sent again until the answer began; then it is let go.
    this.#bytes = Buffer.alloc(0);
  }
}
