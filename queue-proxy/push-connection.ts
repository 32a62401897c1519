/**
 * One kept connection to one activator, for one push at a time. Tells at once when the connection
 * is gone, also between two pushes.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import { errorText } from "../common/errors.ts";
import type { PushReply, PushReport } from "../common/contracts/push.ts";
import { PUSH_PATH } from "../common/contracts/push.ts";
import type { Endpoint } from "./activator-directory.ts";
import type { Agent } from "./builtins.ts";
import { http } from "./builtins.ts";

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

export class PushConnection {
  readonly #options: PushConnectionOptions;
  readonly #agent: Agent;
  #isClosed = false;
  #isWatched = false;

  constructor(options: PushConnectionOptions) {
    this.#options = options;
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  }

  get endpoint(): Endpoint {
    return this.#options.endpoint;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send(report: PushReport, token: string): Promise<PushOutcome> {
    const body = Buffer.from(JSON.stringify(report), "utf8");
    return new Promise((resolve) => {
      const request = this.#request(body.length, token);
      request.once("socket", (socket) => this.#watch(socket));
      request.once("response", (response) => void readOutcome(response).then(resolve));
      request.once("timeout", () => request.destroy(new Error("no answer in time")));
      request.once("error", (error) => resolve({ kind: "failed", message: errorText(error) }));
      request.end(body);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#agent.destroy();
  }

  #request(length: number, token: string): ClientRequest {
    const { endpoint, localAddress, timeoutMs } = this.#options;
    return http.request({
      agent: this.#agent,
      host: endpoint.host,
      port: endpoint.port,
      ...(localAddress === "" ? {} : { localAddress }),
      method: "POST",
      path: PUSH_PATH,
      timeout: timeoutMs,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "content-length": length,
      },
    });
  }

  /** The first socket is the connection; when it closes, so does this. */
  #watch(socket: NodeJS.EventEmitter): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    socket.once("close", () => {
      if (this.#isClosed) return;
      this.close();
      this.#options.onClosed();
    });
  }
}

async function readOutcome(response: IncomingMessage): Promise<PushOutcome> {
  const status = response.statusCode ?? 0;
  let content = "";
  try {
    response.setEncoding("utf8");
    for await (const chunk of response) {
      content += String(chunk);
      if (content.length > MAX_REPLY_BYTES) throw new Error("the reply is too long");
    }
    if (status !== 200) return { kind: "refused", status, message: content.slice(0, 200) };
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
