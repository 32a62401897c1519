/** A front, an upstream and a handler in one process, and a client that sees every byte. */
import { connect, type Socket } from "node:net";
import { withoutHopByHop } from "../../proxy/headers.ts";
import { createFront } from "../../proxy/front.ts";
import { createHttp1Front } from "../../proxy/http1-front.ts";
import { createRawFront } from "../../proxy/raw-front.ts";
import type {
  Attempt,
  AttemptEnd,
  Exchange,
  Front,
  FrontOptions,
  UpstreamOptions,
} from "../../proxy/types.ts";
import { createUpstream, type Upstream } from "../../proxy/upstream.ts";
import { eventually } from "./eventually.ts";

export interface RigOptions {
  /** Where the default handler forwards to. */
  readonly port?: number;
  /** Replaces parts of each attempt of the default handler. */
  readonly attempt?: Partial<Attempt>;
  /** Replaces the default handler. */
  readonly onExchange?: (exchange: Exchange, rig: Rig) => void;
  /** `both` serves HTTP/1.1 and h2c on one port. */
  readonly protocols?: "http1" | "both";
  readonly front?: Partial<FrontOptions>;
  readonly upstream?: Partial<UpstreamOptions>;
}

export interface Rig {
  readonly port: number;
  readonly front: Front;
  readonly upstream: Upstream;
  readonly exchanges: readonly Exchange[];
  /** How attempts ended, in order. */
  readonly ends: AttemptEnd[];
  /** Whether each connected attempt ran on a reused connection. */
  readonly reused: boolean[];
  /** An attempt to this port that records its end; `parts` replace the defaults. */
  attemptTo(port: number, exchange: Exchange, parts?: Partial<Attempt>): Attempt;
  stop(): Promise<void>;
}

/** The form of the front that rigs use; suites run once with each. */
let frontForm: "safe" | "raw" = "safe";

export function useFrontForm(form: "safe" | "raw"): void {
  frontForm = form;
}

export function currentFrontForm(): "safe" | "raw" {
  return frontForm;
}

const NO_LIMITS = { connectMs: 2_000, startMs: 0, idleMs: 0, totalMs: 0 };

export async function startRig(options: RigOptions): Promise<Rig> {
  const upstream = createUpstream({ idleMs: 4_000, maxIdlePerHost: 16, ...options.upstream });
  const exchanges: Exchange[] = [];
  const ends: AttemptEnd[] = [];
  const reused: boolean[] = [];
  const handle = options.onExchange ?? ((exchange: Exchange) => forwardOnce(exchange, options));
  const createHttp1 = frontForm === "raw" ? createRawFront : createHttp1Front;
  const create = options.protocols === "both" ? createFront : createHttp1;
  const front = create(
    {
      maxHeadBytes: 65_536,
      headTimeoutMs: 5_000,
      keepAliveMs: 60_000,
      maxConnections: 0,
      replayBytes: 65_536,
      form: frontForm,
      ...options.front,
    },
    {
      onExchange: (exchange) => {
        exchanges.push(exchange);
        handle(exchange, rig);
      },
      onRefused: (reason) => ({
        status: REFUSED_STATUS[reason],
        headers: ["Pilotlight-Reason", reason],
        body: `${reason}\n`,
      }),
    },
    upstream,
  );

  function forwardOnce(exchange: Exchange, { port = 0, attempt }: RigOptions): void {
    exchange.forward(rig.attemptTo(port, exchange, attempt));
  }

  const attemptTo = (port: number, exchange: Exchange, parts: Partial<Attempt> = {}): Attempt => ({
    host: "127.0.0.1",
    port,
    protocol: "http1",
    headers: withoutHopByHop(exchange.head.headers),
    target: exchange.head.target,
    limits: NO_LIMITS,
    onConnected: (isReused) => reused.push(isReused),
    onResponse: (head) => withoutHopByHop(head.headers),
    ...parts,
    onEnd: (end) => {
      ends.push(end);
      parts.onEnd?.(end);
      answerFailure(exchange, end);
    },
  });

  const { port } = await front.listen({ host: "127.0.0.1", port: 0 });
  const rig: Rig = {
    port,
    front,
    upstream,
    exchanges,
    ends,
    reused,
    attemptTo,
    stop: async () => {
      await front.close();
      upstream.close();
    },
  };
  return rig;
}

const REFUSED_STATUS = {
  malformed_request: 400,
  request_head_timeout: 408,
  header_too_large: 431,
  unknown_expectation: 417,
} as const;

/** As a handler would: an answer of the platform where the client has none yet. */
function answerFailure(exchange: Exchange, end: AttemptEnd): void {
  if (end.kind === "done" || end.kind === "client-gone" || !exchange.pristine) return;
  if (end.kind === "intercepted" || end.kind === "cancelled") return;
  exchange.answer({ status: 502, headers: ["X-End", end.kind], body: `${end.kind}\n` });
}

/** A client on a bare socket. */
export class RawClient {
  readonly socket: Socket;
  /** Received bytes as latin1 text. */
  received = "";
  isClosed = false;
  sawEnd = false;
  wasReset = false;

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.on("data", (bytes) => {
      this.received += bytes.toString("latin1");
    });
    this.socket.on("end", () => {
      this.sawEnd = true;
    });
    this.socket.on("error", (error: NodeJS.ErrnoException) => {
      this.wasReset ||= error.code === "ECONNRESET";
    });
    this.socket.on("close", () => {
      this.isClosed = true;
    });
  }

  send(text: string): this {
    this.socket.write(text, "latin1");
    return this;
  }

  /** Waits until the received text holds `mark`. */
  async has(mark: string): Promise<void> {
    await eventually(() => this.received.includes(mark), { what: `${mark} in ${this.received}` });
  }

  /** Waits for the end of the server's side; returns all that came. */
  async ended(): Promise<string> {
    await eventually(() => this.sawEnd || this.isClosed, { what: `end after ${this.received}` });
    this.socket.destroy();
    return this.received;
  }
}
