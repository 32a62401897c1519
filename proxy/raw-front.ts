/**
 * The HTTP/1.1 front in its fast form: our own strict server side over bare sockets. Accepts the
 * same requests as the safe form, or fewer; see docs/decisions for when which one is used.
 */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { keepAliveLines } from "./raw-answer-head.ts";
import { RawConnection, type RawConnectionOwner } from "./raw-connection.ts";
import type { Exchange, Front, FrontHooks, FrontOptions, ListenOptions } from "./types.ts";
import type { Upstream } from "./upstream.ts";

/** Time beyond the announced keep-alive time before we close, so that a client never meets it. */
const KEEP_ALIVE_BUFFER_MS = 1_000;
const MIN_SWEEP_MS = 50;
const MAX_SWEEP_MS = 5_000;
/** Amount held per direction under back-pressure. */
const HIGH_WATER_BYTES = 65_536;

export interface RawFrontPartners {
  readonly upstream: Upstream;
  readonly h2c?: { accept(socket: Socket): void };
}

export function createRawFront(
  options: FrontOptions,
  hooks: FrontHooks,
  upstream: Upstream,
): RawFront {
  return new RawFront(options, hooks, { upstream });
}

export class RawFront implements Front, RawConnectionOwner {
  readonly hooks: FrontHooks;
  readonly upstream: Upstream;
  readonly h2c: { accept(socket: Socket): void } | undefined;
  readonly replayBytes: number;
  readonly maxHeadBytes: number;
  readonly headTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly keepAliveLines: string;
  readonly highWaterBytes = HIGH_WATER_BYTES;
  #maxConnections: number;
  #servers: Server[] = [];
  #connections = new Set<RawConnection>();
  /** Open connections, those handed over included. */
  #clients = 0;
  #sweeper: NodeJS.Timeout | undefined;
  #open = 0;
  #isStopping = false;
  #onDrained: (() => void)[] = [];

  constructor(options: FrontOptions, hooks: FrontHooks, partners: RawFrontPartners) {
    this.hooks = hooks;
    this.upstream = partners.upstream;
    this.h2c = partners.h2c;
    this.replayBytes = options.replayBytes;
    this.maxHeadBytes = options.maxHeadBytes;
    this.headTimeoutMs = options.headTimeoutMs;
    this.keepAliveMs = options.keepAliveMs + KEEP_ALIVE_BUFFER_MS;
    this.keepAliveLines = keepAliveLines(options.keepAliveMs);
    this.#maxConnections = options.maxConnections;
  }

  get open(): number {
    return this.#open;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  async listen(where: ListenOptions): Promise<{ readonly address: string; readonly port: number }> {
    const { host, port, reusePort = false } = where;
    const server = createServer(
      { noDelay: true, allowHalfOpen: true, highWaterMark: HIGH_WATER_BYTES },
      (socket) => this.accept(socket),
    );
    this.#servers.push(server);
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

  accept(accepted: Socket): void {
    // Counted here, since a server forgets connections that another socket takes over.
    if (this.#maxConnections > 0 && this.#clients >= this.#maxConnections) {
      return void accepted.destroy();
    }
    const connection = new RawConnection(accepted, this);
    this.#clients += 1;
    connection.socket.on("close", () => (this.#clients -= 1));
    this.#connections.add(connection);
    this.#sweeper ??= setInterval(() => this.#sweep(), this.#sweepMs()).unref();
  }

  stopAccepting(): void {
    this.#isStopping = true;
    for (const server of this.#servers) server.close();
    for (const connection of this.#connections) connection.stopWhenIdle();
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
    for (const connection of this.#connections) connection.destroy();
    await Promise.all(closed);
  }

  onExchange(exchange: Exchange): void {
    this.#open += 1;
    this.hooks.onExchange(exchange);
  }

  onExchangeClosed(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    const waiting = this.#onDrained;
    this.#onDrained = [];
    for (const resolve of waiting) resolve();
  }

  onGone(connection: RawConnection): void {
    this.#connections.delete(connection);
    if (this.#connections.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #sweep(): void {
    const now = performance.now();
    for (const connection of this.#connections) connection.sweep(now);
  }

  #sweepMs(): number {
    return Math.max(MIN_SWEEP_MS, Math.min(MAX_SWEEP_MS, this.headTimeoutMs / 4));
  }
}
