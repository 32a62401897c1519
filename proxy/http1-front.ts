/**
 * The HTTP/1.1 front in its safe form: Node's server and parser read the requests, everything
 * behind the head is ours. See docs/decisions for why there are two forms.
 */
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ClientConnection, lingerAndClose } from "./client-connection.ts";
import { Http1Exchange, type NodeMessages } from "./http1-exchange.ts";
import { http, reasonPhrase } from "./http-lazy.ts";
import { announcesBody, readRequestHead } from "./request-head.ts";
import { sniffProtocol } from "./protocol-sniff.ts";
import type { Front, FrontHooks, FrontOptions, ListenOptions } from "./types.ts";
import type { Upstream } from "./upstream.ts";

/** Time that Node adds to the announced keep-alive time before it closes. */
const KEEP_ALIVE_BUFFER_MS = 1_000;

export function createHttp1Front(
  options: FrontOptions,
  hooks: FrontHooks,
  upstream: Upstream,
): Front {
  return new Http1Front(options, hooks, { upstream });
}

/** Where requests go, and who takes the connections that speak HTTP/2. */
export interface FrontPartners {
  readonly upstream: Upstream;
  readonly h2c?: { accept(socket: Socket): void };
}

type RefusedReason = Parameters<FrontHooks["onRefused"]>[0];

export class Http1Front implements Front {
  #options: FrontOptions;
  #hooks: FrontHooks;
  #partners: FrontPartners;
  #servers: Server[] = [];
  /** Never listens; parses what `accept` is given. */
  #adopter: Server | undefined;
  #connections = new Map<Duplex, ClientConnection>();
  #open = 0;
  #isStopping = false;
  #onDrained: (() => void)[] = [];

  constructor(options: FrontOptions, hooks: FrontHooks, partners: FrontPartners) {
    this.#options = options;
    this.#hooks = hooks;
    this.#partners = partners;
  }

  get open(): number {
    return this.#open;
  }

  async listen(where: ListenOptions): Promise<{ readonly address: string; readonly port: number }> {
    const server = this.#createServer();
    this.#servers.push(server);
    const { host, port, reusePort = false } = where;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port, reusePort }, () => {
        server.off("error", reject);
        resolve();
      });
    });
    // A listening TCP server has an address object; a string is for pipes only.
    const { address, port: chosen } = server.address() as AddressInfo;
    return { address, port: chosen };
  }

  /** Serves a connection that another server accepted, with the same look at its first bytes. */
  accept(socket: Socket): void {
    this.#adopter ??= this.#createAdopter();
    this.#adopter.emit("connection", socket);
  }

  stopAccepting(): void {
    this.#isStopping = true;
    for (const server of this.#servers) server.close();
    this.#adopter?.close();
  }

  drained(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  async close(): Promise<void> {
    this.#isStopping = true;
    const closed = this.#servers.map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    );
    for (const { socket } of this.#connections.values()) socket.destroy();
    await Promise.all(closed);
  }

  #createAdopter(): Server {
    const server = this.#createServer();
    // Node begins to watch for late heads when a server listens, which this one never does.
    server.emit("listening");
    return server;
  }

  #createServer(): Server {
    const options = this.#options;
    const server = http().createServer({
      // Every default of Node's server that decides over a request, and why it is not left to it:
      // 16 KiB of headers; the contract wants about 1 MiB.
      maxHeaderSize: options.maxHeadBytes,
      // 60 s for the head; answered with 408 by `clientError`.
      headersTimeout: options.headTimeoutMs,
      // 300 s for a whole request would cut every long upload and held request: off.
      requestTimeout: 0,
      // Looks for late heads every 30 s; often enough for the limit that was asked for.
      connectionsCheckingInterval: Math.max(50, Math.min(5_000, options.headTimeoutMs / 4)),
      // 5 s; must outlast the idle time of whatever stands in front.
      keepAliveTimeout: options.keepAliveMs,
      keepAliveTimeoutBuffer: KEEP_ALIVE_BUFFER_MS,
      // Tokens and events are small and must not wait for more (Nagle).
      noDelay: true,
      // 64 KiB per side: the amount held per direction under back-pressure.
      highWaterMark: 65_536,
      // The strict parser, also when the process was started with lenient flags.
      insecureHTTPParser: false,
      // Missing Host is refused by our own check, with our own answer.
      requireHostHeader: false,
      // Raw lists are used, so nothing is joined.
      joinDuplicateHeaders: false,
      // Writes to a HEAD answer are ignored: the parser has read none anyway.
      rejectNonStandardBodyWrites: false,
      // A request without body headers costs no stream events.
      optimizeEmptyRequests: true,
      // h2c by upgrade is obsolete, and a body before a switch has no clear place: plain requests.
      shouldUpgradeCallback: isSwitchable,
    });
    // 0 already today: no inactivity limit on sockets.
    server.timeout = 0;
    // 1000 pairs, the rest silently dropped: bytes are limited, pairs are not.
    server.maxHeadersCount = 0;
    // 0 already today: no limit of requests per connection.
    server.maxRequestsPerSocket = 0;
    if (options.maxConnections > 0) server.maxConnections = options.maxConnections;
    this.#listenTo(server);
    return server;
  }

  #listenTo(server: Server): void {
    server.prependListener("connection", (socket: Socket) => this.#onConnection(socket));
    if (this.#partners.h2c !== undefined) this.#sniffConnections(server, this.#partners.h2c);
    server.on("request", (request, response) => this.#dispatch({ request, response }, "plain"));
    server.on("checkContinue", (request, response) =>
      this.#dispatch({ request, response }, "plain"),
    );
    server.on("checkExpectation", (request, response) =>
      this.#refuse("unknown_expectation", { request, response }),
    );
    server.on("upgrade", (request, socket, first) => this.#onUpgrade(request, socket, first));
    server.on("connect", (_request, socket) => this.#refuseBytes("malformed_request", socket));
    server.on("clientError", (error, socket) => this.#onClientError(error, socket));
  }

  /** Puts the look at the first bytes before everything that listens for connections. */
  #sniffConnections(server: Server, h2c: { accept(socket: Socket): void }): void {
    const http1 = server.listeners("connection");
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) =>
      sniffProtocol(socket, {
        timeoutMs: this.#options.headTimeoutMs,
        onH2c: () => h2c.accept(socket),
        onOther: () => {
          for (const listener of http1) listener.call(server, socket);
        },
      }),
    );
  }

  #onConnection(socket: Socket): void {
    this.#connections.set(socket, new ClientConnection(socket));
    socket.on("close", () => this.#connections.delete(socket));
  }

  #dispatch(messages: NodeMessages, kind: "plain" | "upgrade"): void {
    const connection = this.#connections.get(messages.request.socket);
    if (connection === undefined || connection.isClosing) return;
    const { remoteAddress, remotePort, isEncrypted } = connection;
    const origin = { remoteAddress, remotePort, isEncrypted, isUpgrade: kind === "upgrade" };
    const read = readRequestHead(messages.request, origin);
    if (read === undefined) return this.#refuse("malformed_request", messages);
    const exchange = new Http1Exchange(read, messages, {
      connection,
      upstream: this.#partners.upstream,
      replayBytes: this.#options.replayBytes,
      isStopping: this.#stopping,
      onClosed: this.#onClosed,
    });
    connection.open.add(exchange);
    this.#open += 1;
    this.#hooks.onExchange(exchange);
  }

  readonly #stopping = (): boolean => this.#isStopping;

  readonly #onClosed = (exchange: Http1Exchange, connection: ClientConnection): void => {
    this.#open -= 1;
    connection.closed(exchange);
    if (this.#open > 0) return;
    const waiting = this.#onDrained;
    this.#onDrained = [];
    for (const resolve of waiting) resolve();
  };

  /** The connection is out of Node's hands; a response object of our own keeps framing in one place. */
  #onUpgrade(request: IncomingMessage, stream: Duplex, first: Buffer): void {
    // Node's declaration allows any stream for servers that are fed by hand; ours are TCP sockets.
    const socket = stream as Socket;
    socket.on("error", ignoreError);
    if (first.length > 0) socket.unshift(first);
    const { ServerResponse } = http();
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    this.#dispatch({ request, response }, "upgrade");
  }

  /** Refuses a request that Node has read: in its turn, and as the last on its connection. */
  #refuse(reason: RefusedReason, { request, response }: NodeMessages): void {
    const answer = this.#hooks.onRefused(reason);
    const body = Buffer.from(answer.body);
    const { socket } = request;
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.isClosing) return;
    connection.isClosing = true;
    socket.destroySoon = () => lingerAndClose(socket);
    response.writeHead(answer.status, reasonPhrase(answer.status), [
      ...answer.headers,
      "Content-Length",
      String(body.length),
      "Connection",
      "close",
    ]);
    response.end(body);
  }

  #refuseBytes(reason: RefusedReason, socket: Duplex): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) socket.destroy();
    else if (!connection.isClosing) connection.refuse(this.#hooks.onRefused(reason));
  }

  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    // Bytes behind a request that ends the connection: its answer still counts, they do not.
    if (error.code === "HPE_CLOSED_CONNECTION") return;
    const reason = refusedReason(error.code);
    if (reason === undefined) socket.destroy();
    else this.#refuseBytes(reason, socket);
  }
}

/** Undefined when the connection broke, so that nobody is there to be answered. */
function refusedReason(code: string | undefined): RefusedReason | undefined {
  if (code === "HPE_HEADER_OVERFLOW") return "header_too_large";
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "request_head_timeout";
  if (code === undefined || !code.startsWith("HPE_")) return undefined;
  return code === "HPE_INVALID_EOF_STATE" ? undefined : "malformed_request";
}

function ignoreError(): void {
  // `close` follows and says the same.
}

function isSwitchable(request: IncomingMessage): boolean {
  const protocol = request.headers.upgrade?.toLowerCase();
  return protocol !== undefined && protocol !== "h2c" && !announcesBody(request.rawHeaders);
}
