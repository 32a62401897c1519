/**
 * One kept connection to one activator, for one push at a time. Tells at once when the connection
 * is gone, also between two pushes. Written on a socket: a push is on the way of every cold start,
 * and Node's client took a quarter of its time.
 */
import net, { type Socket } from "node:net";
import { errorText } from "../common/errors.ts";
import type { PushReply, PushReport } from "../common/contracts/push.ts";
import { PUSH_PATH } from "../common/contracts/push.ts";
import { ResponseParser } from "../proxy/response-parser.ts";
import type { Endpoint } from "./activator-directory.ts";

export type PushOutcome =
  | { readonly kind: "reply"; readonly reply: PushReply }
  /** The activator answered, and not with a reply. */
  | { readonly kind: "refused"; readonly status: number; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };

export interface PushConnectionOptions {
  readonly endpoint: Endpoint;
  /** The pod's own address: the activator compares it with the pod's record. */
  readonly localAddress: string;
  readonly timeoutMs: number;
  readonly onClosed: () => void;
}

/** A reply is a few hundred bytes; more is not one. */
const MAX_REPLY_BYTES = 1_048_576;
const MAX_WORDS = 200;
/** A token that breaks lines would write headers of its own. */
const TOKEN = /^[\x21-\x7e]+$/;

/** The push under way. */
interface Pending {
  readonly resolve: (outcome: PushOutcome) => void;
  readonly timer: NodeJS.Timeout;
  readonly parts: Buffer[];
  status: number;
  bytes: number;
}

export class PushConnection {
  readonly #options: PushConnectionOptions;
  readonly #host: string;
  #socket: Socket | undefined;
  #pending: Pending | undefined;
  #isClosed = false;
  /** Why it is closed. */
  #why = "the connection is closed";
  readonly #parser = new ResponseParser({
    onInformation: () => {},
    onHead: ({ status }) => {
      if (this.#pending !== undefined) this.#pending.status = status;
    },
    onBody: (bytes) => this.#keep(bytes),
    onComplete: () => this.#completed(),
  });

  constructor(options: PushConnectionOptions) {
    this.#options = options;
    const { host, port } = options.endpoint;
    // Node's own look at an address compiles an expression of 4 ms, in the middle of a cold start.
    this.#host = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  }

  get endpoint(): Endpoint {
    return this.#options.endpoint;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when it stands or never will; what is said then is what is so then. */
  open(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#broke("no connection in time"), this.#options.timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#socket ??= this.#connect();
      this.#socket.once("connect", done).once("close", done);
    });
  }

  send(report: PushReport, token: string): Promise<PushOutcome> {
    if (this.#isClosed) return failed(this.#why);
    if (!TOKEN.test(token)) return failed("the token is not a word of printable characters");
    const body = JSON.stringify(report);
    const head =
      `POST ${PUSH_PATH} HTTP/1.1\r\nhost: ${this.#host}\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return new Promise((resolve) => {
      const late = (): void => this.#broke("no answer in time");
      const timer = setTimeout(late, this.#options.timeoutMs);
      this.#pending = { resolve, timer, parts: [], status: 0, bytes: 0 };
      this.#parser.expect("POST");
      this.#socket ??= this.#connect();
      this.#socket.write(head + body);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
    this.#end({ kind: "failed", message: "the connection was closed" });
  }

  #connect(): Socket {
    const { endpoint, localAddress } = this.#options;
    const { host, port } = endpoint;
    const from = localAddress === "" ? {} : { localAddress };
    const socket = net.connect({ host, port, noDelay: true, ...from });
    socket.on("data", (bytes) => this.#read(bytes));
    socket.on("end", () => this.#parser.end());
    socket.on("error", (error) => this.#broke(errorText(error)));
    socket.on("close", () => this.#broke("the connection was closed"));
    return socket;
  }

  #read(bytes: Buffer): void {
    try {
      const used = this.#parser.read(bytes);
      if (used < bytes.length) this.#broke("bytes that belong to no answer");
    } catch (error) {
      this.#broke(errorText(error));
    }
  }

  #keep(bytes: Buffer): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    pending.bytes += bytes.length;
    pending.parts.push(bytes);
    if (pending.bytes > MAX_REPLY_BYTES) this.#broke("the reply is too long");
  }

  #completed(): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#end(outcomeOf(pending.status, Buffer.concat(pending.parts).toString()));
    if (!this.#parser.isReusable) this.#broke("the activator closes the connection");
  }

  /** The connection is of no more use. */
  #broke(message: string): void {
    this.#end({ kind: "failed", message });
    if (this.#isClosed) return;
    this.#why = message;
    this.close();
    this.#options.onClosed();
  }

  #end(outcome: PushOutcome): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    clearTimeout(pending.timer);
    pending.resolve(outcome);
  }
}

const failed = (message: string): Promise<PushOutcome> =>
  Promise.resolve({ kind: "failed", message });

function outcomeOf(status: number, content: string): PushOutcome {
  if (status !== 200) return { kind: "refused", status, message: content.slice(0, MAX_WORDS) };
  try {
    return { kind: "reply", reply: parseReply(JSON.parse(content)) };
  } catch (error) {
    return { kind: "failed", message: errorText(error) };
  }
}

/** Absent fields take their harmless value, so that an older activator is understood. */
function parseReply(value: unknown): PushReply {
  const fields: Partial<Record<keyof PushReply, unknown>> =
    typeof value === "object" && value !== null ? value : {};
  const { ask } = fields;
  const activators = number(fields.activators, -1);
  return {
    ackBoot: number(fields.ackBoot, 0),
    ackSequence: number(fields.ackSequence, 0),
    heartbeatMs: number(fields.heartbeatMs, 1_000),
    localQueue: number(fields.localQueue, 0),
    ...(activators < 0 ? {} : { activators }),
    starvationLimitMs: number(fields.starvationLimitMs, Infinity),
    drainAcknowledged: fields.drainAcknowledged === true,
    ask: Array.isArray(ask) ? ask.filter((id) => typeof id === "string") : [],
  };
}

function number(value: unknown, fallback: number): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : fallback;
}
