/** The clients of the proof, each a thin hand on a real program or library. */
import { execFile } from "node:child_process";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import type { CallOptions, ServiceError, StatusObject } from "@grpc/grpc-js";
import { WebSocket } from "ws";
import { eventually } from "../support/eventually.ts";
import type { Target } from "./row.ts";

/** For waits whose length is not what a row is about. */
export const PATIENT = { timeoutMs: 20_000 } as const;

export interface CurlResult {
  readonly code: number;
  readonly stdout: string;
}

/** Runs curl against a path of the target; arguments come before the URL. */
export function curl(target: Target, path: string, args: readonly string[]): Promise<CurlResult> {
  const url = `http://${target.host}:${target.port}${path}`;
  const all = ["-sS", "--max-time", "20", "-H", `Host: ${target.authority}`, ...args, url];
  return new Promise((resolve) => {
    execFile("curl", all, { maxBuffer: 64 * 1_048_576 }, (error, stdout) => {
      resolve({
        code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1,
        stdout,
      });
    });
  });
}

/** A bare connection: every byte is seen. */
export class RawConnection {
  readonly socket: Socket;
  received = "";
  isOver = false;

  constructor(target: Target) {
    this.socket = connect({ host: target.host, port: target.port, allowHalfOpen: true });
    this.socket.on("data", (bytes) => (this.received += bytes.toString("latin1")));
    for (const event of ["end", "close"]) this.socket.on(event, () => (this.isOver = true));
    this.socket.on("error", () => (this.isOver = true));
  }

  send(text: string): void {
    this.socket.write(text, "latin1");
  }

  async has(mark: string, timeoutMs: number = PATIENT.timeoutMs): Promise<void> {
    const what = `${JSON.stringify(mark)} in ${JSON.stringify(this.received.slice(-400))}`;
    await eventually(() => this.received.includes(mark), { timeoutMs, what });
  }

  /** All that came until the other side ended. */
  async over(timeoutMs: number = PATIENT.timeoutMs): Promise<string> {
    await eventually(() => this.isOver, { timeoutMs, what: "the end of the connection" });
    this.socket.destroy();
    return this.received;
  }
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly trailers: NodeJS.Dict<string>;
  readonly body: string;
}

export interface HttpCall {
  readonly method?: string;
  readonly headers?: NodeJS.Dict<string>;
  readonly body?: string | Buffer;
  readonly trailers?: NodeJS.Dict<string>;
  readonly signal?: AbortSignal;
  readonly onInformation?: (status: number, headers: NodeJS.Dict<string | string[]>) => void;
  /** Sees each piece of the body with its arrival. */
  readonly onPiece?: (text: string, atMs: number) => void;
}

/** A row may fail before it looks at a call that it left running; that must end the row alone. */
export function inBackground<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

/** One request by Node's client over a connection of its own. */
export function http(target: Target, path: string, call: HttpCall = {}): Promise<HttpAnswer> {
  const { host, port, authority } = target;
  const { method = "GET", body, trailers, signal } = call;
  return new Promise((resolve, reject) => {
    const headers = { host: authority, ...call.headers };
    const outgoing = request({ host, port, path, method, agent: false, headers, signal });
    outgoing.on("error", reject);
    outgoing.on("information", (info) => call.onInformation?.(info.statusCode, info.headers));
    outgoing.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
        call.onPiece?.(piece, performance.now());
      });
      response.on("error", reject);
      response.on("aborted", () => reject(new Error("the answer was cut")));
      response.on("end", () => {
        const { statusCode = 0 } = response;
        resolve({
          status: statusCode,
          headers: response.headers,
          trailers: response.trailers,
          body: text,
        });
      });
    });
    if (body !== undefined) outgoing.write(body);
    if (trailers !== undefined)
      outgoing.addTrailers(Object.entries(trailers) as [string, string][]);
    outgoing.end();
  });
}

export interface H2Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly trailers: NodeJS.Dict<string | string[]>;
  readonly information: readonly NodeJS.Dict<string | string[]>[];
  readonly body: string;
}

export function h2Session(target: Target): ClientHttp2Session {
  const session = connectHttp2(`http://${target.host}:${target.port}`);
  session.on("error", () => undefined);
  return session;
}

/** One request on a session of its own, unless one is given. */
export async function h2(
  target: Target,
  path: string,
  call: { headers?: OutgoingHttpHeaders; body?: string; session?: ClientHttp2Session } = {},
): Promise<H2Answer> {
  const session = call.session ?? h2Session(target);
  try {
    const hasBody = call.body !== undefined;
    const stream = session.request(
      {
        ":path": path,
        ":authority": target.authority,
        ":method": hasBody ? "POST" : "GET",
        ...call.headers,
      },
      { endStream: !hasBody },
    );
    if (hasBody) stream.end(call.body);
    return await h2Answer(stream);
  } finally {
    if (call.session === undefined) session.destroy();
  }
}

function h2Answer(stream: ClientHttp2Stream): Promise<H2Answer> {
  return new Promise((resolve, reject) => {
    const information: NodeJS.Dict<string | string[]>[] = [];
    let headers: NodeJS.Dict<string | string[]> = {};
    let trailers: NodeJS.Dict<string | string[]> = {};
    let body = "";
    stream.setEncoding("utf8");
    stream.on("headers", (info) => information.push(info as NodeJS.Dict<string | string[]>));
    stream.on("response", (head) => (headers = head as NodeJS.Dict<string | string[]>));
    stream.on("trailers", (fields) => (trailers = fields as NodeJS.Dict<string | string[]>));
    stream.on("data", (text: string) => (body += text));
    stream.on("error", reject);
    stream.on("close", () => {
      if (stream.rstCode !== 0) return reject(new Error(`the stream ended with ${stream.rstCode}`));
      resolve({ status: Number(headers[":status"]), headers, trailers, information, body });
    });
  });
}

const BYTES = (value: Buffer): Buffer => value;

/** A gRPC client with plain bytes as messages. */
export class GrpcCaller {
  readonly #client: Client;

  constructor(target: Target) {
    this.#client = new Client(`${target.host}:${target.port}`, credentials.createInsecure(), {
      "grpc.default_authority": target.authority,
      "grpc.enable_retries": 0,
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  unary(method: string, text: string, options: CallOptions = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        `/pb.Echo/${method}`,
        BYTES,
        BYTES,
        Buffer.from(text),
        new Metadata(),
        options,
        (error: ServiceError | null, value?: Buffer) =>
          error === null ? resolve(String(value)) : reject(error),
      );
    });
  }

  /** The error of a call that must fail. */
  async failure(method: string, options: CallOptions = {}): Promise<ServiceError> {
    try {
      await this.unary(method, "x", options);
    } catch (error) {
      // grpc-js rejects with nothing else.
      return error as ServiceError;
    }
    throw new Error(`${method} did not fail`);
  }

  serverStream(
    method: string,
    text: string,
  ): Promise<{ messages: string[]; status: StatusObject }> {
    const call = this.#client.makeServerStreamRequest(
      `/pb.Echo/${method}`,
      BYTES,
      BYTES,
      Buffer.from(text),
    );
    const messages: string[] = [];
    call.on("data", (message: Buffer) => messages.push(String(message)));
    call.on("error", () => undefined);
    return new Promise((resolve) => {
      call.on("status", (status: StatusObject) => resolve({ messages, status }));
    });
  }

  clientStream(method: string, texts: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const call = this.#client.makeClientStreamRequest(
        `/pb.Echo/${method}`,
        BYTES,
        BYTES,
        (error: ServiceError | null, value?: Buffer) =>
          error === null ? resolve(String(value)) : reject(error),
      );
      for (const text of texts) call.write(Buffer.from(text));
      call.end();
    });
  }

  /** Sends the next message only when the last has come back. */
  async bidi(method: string, texts: readonly string[], gapMs = 0): Promise<string[]> {
    const call = this.#client.makeBidiStreamRequest(`/pb.Echo/${method}`, BYTES, BYTES);
    const messages: string[] = [];
    let failure: unknown;
    call.on("data", (message: Buffer) => messages.push(String(message)));
    call.on("error", (error) => (failure = error));
    for (const [index, text] of texts.entries()) {
      if (gapMs > 0) await pause(gapMs);
      call.write(Buffer.from(text));
      await eventually(() => messages.length === index + 1, {
        ...PATIENT,
        what: `echo ${index + 1}: ${String(failure)}`,
      });
    }
    const over = new Promise<StatusObject>((resolve) => call.on("status", resolve));
    call.end();
    const status = await over;
    if (status.code !== 0) throw new Error(`ended with ${status.code} ${status.details}`);
    return messages;
  }

  close(): void {
    this.#client.close();
  }
}

/** A WebSocket that remembers how it ended. */
export class WsClient {
  readonly socket: WebSocket;
  readonly messages: string[] = [];
  pongs = 0;
  closed: { readonly code: number; readonly ageMs: number } | undefined;

  constructor(target: Target, path = "/ws") {
    const openedAt = performance.now();
    this.socket = new WebSocket(`ws://${target.host}:${target.port}${path}`, {
      headers: { host: target.authority },
    });
    // One Buffer per message: the client's `binaryType` is its default.
    this.socket.on("message", (data) => this.messages.push((data as Buffer).toString()));
    this.socket.on("pong", () => (this.pongs += 1));
    this.socket.on("error", () => undefined);
    this.socket.on("close", (code) => {
      this.closed = { code, ageMs: performance.now() - openedAt };
    });
  }

  async open(): Promise<void> {
    await eventually(() => this.socket.readyState === WebSocket.OPEN, {
      ...PATIENT,
      what: "an open WebSocket",
    });
  }

  async says(text: string): Promise<void> {
    await eventually(() => this.messages.includes(text), {
      ...PATIENT,
      what: `message ${text.slice(0, 40)}`,
    });
  }

  async ended(
    timeoutMs: number = PATIENT.timeoutMs,
  ): Promise<{ readonly code: number; readonly ageMs: number }> {
    return eventually(() => this.closed, { timeoutMs, what: "the close of the WebSocket" });
  }
}
