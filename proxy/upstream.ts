/**
 * Connections to upstreams, kept for reuse: one pool per host, port and local address. A pool
 * exists only while it has idle connections, and those have an end, so the pools of hosts that are
 * gone vanish by themselves.
 */
import { ChurnMap } from "../common/churn-map.ts";
import { H2cUpstream } from "./h2c-upstream.ts";
import type { UpstreamRequest, UpstreamStream } from "./sides.ts";
import { type ConnectionOwner, UpstreamConnection } from "./upstream-connection.ts";
import type { UpstreamOptions } from "./types.ts";

/** How much earlier than the peer announces we give a connection up: its clock started earlier. */
const IDLE_MARGIN_MS = 1_000;
/** Longest stay in the pool, whatever the peer announces. */
const MAX_HINTED_MS = 90_000;
/** How often idle connections that are over their time are closed. */
const SWEEP_MS = 500;
/** A sweep that is later than this tells of a process that stood still. */
const STALL_MS = 1_000;

export interface Upstream {
  /** An idle or a new connection for this request, not started yet; `isFresh`: in any case a new one. */
  open(request: UpstreamRequest, isFresh?: boolean): UpstreamStream;
  /** Idle connections now. */
  readonly idle: number;
  /** Pools now; none without idle connections. */
  readonly pools: number;
  /** Closes idle connections; those in use close when their request ends. */
  close(): void;
}

export function createUpstream(options: UpstreamOptions): Upstream {
  return new PooledUpstream(options);
}

/** What tells connections apart. */
type Way = Pick<UpstreamRequest, "host" | "port" | "localAddress" | "dialer">;

function isSameWay(one: Way, other: Way): boolean {
  return (
    one.host === other.host &&
    one.port === other.port &&
    one.localAddress === other.localAddress &&
    one.dialer === other.dialer
  );
}

class PooledUpstream implements Upstream, ConnectionOwner {
  #options: UpstreamOptions;
  /** Idle connections, the most recently used last. */
  #pools = new ChurnMap<UpstreamConnection[]>();
  #idle = 0;
  #isClosed = false;
  #h2c: H2cUpstream;
  #sweeper: NodeJS.Timeout | undefined;
  #sweptAt = 0;
  /** The process stood still: ends of connections may have come that it has yet to read. */
  #isBehind = false;
  #lastKeyed: { readonly request: Way; readonly key: string } | undefined;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#h2c = new H2cUpstream(options.idleMs);
  }

  get idle(): number {
    return this.#idle + this.#h2c.idle;
  }

  get pools(): number {
    return this.#pools.size + this.#h2c.pools;
  }

  open(request: UpstreamRequest, isFresh = false): UpstreamStream {
    const key = this.#keyOf(request);
    if (request.protocol === "h2c") return this.#h2c.open(key, request);
    const kept = isFresh ? undefined : this.#take(key);
    return kept ?? new UpstreamConnection(key, request, this);
  }

  /** The last key again where the request goes the same way, as all of a sidecar do. */
  #keyOf(request: UpstreamRequest): string {
    const last = this.#lastKeyed;
    if (last !== undefined && isSameWay(last.request, request)) return last.key;
    const { host, port, localAddress, dialer } = request;
    const plain = `${host}:${port}:${localAddress}`;
    const key = dialer === undefined ? plain : `${plain}:${dialer.key}`;
    this.#lastKeyed = { request: { host, port, localAddress, dialer }, key };
    return key;
  }

  close(): void {
    this.#isClosed = true;
    this.#stopSweeping();
    this.#h2c.close();
    for (const pool of this.#pools.values()) {
      for (const connection of pool.slice()) this.#drop(connection);
    }
  }

  onConnectionIdle(connection: UpstreamConnection): void {
    const { idleMs, maxIdlePerHost } = this.#options;
    const hintMs = connection.idleHintMs;
    const keepMs = hintMs < 0 ? idleMs : Math.min(hintMs - IDLE_MARGIN_MS, MAX_HINTED_MS);
    if (this.#isClosed || keepMs <= 0 || maxIdlePerHost <= 0) {
      connection.destroy();
      return;
    }
    connection.idleUntil = performance.now() + keepMs;
    const pool = this.#pools.get(connection.key);
    if (pool === undefined) this.#pools.set(connection.key, [connection]);
    else pool.push(connection);
    this.#idle += 1;
    const oldest = pool !== undefined && pool.length > maxIdlePerHost ? pool[0] : undefined;
    if (oldest !== undefined) this.#drop(oldest);
    if (this.#sweeper === undefined) this.#startSweeping();
  }

  onConnectionClosed(connection: UpstreamConnection): void {
    this.#remove(connection);
  }

  /** The most recently used connection that is still good; the others found on the way are closed. */
  #take(key: string): UpstreamConnection | undefined {
    const pool = this.#pools.get(key);
    if (pool === undefined) return undefined;
    const now = performance.now();
    if (this.#isBehind || this.#stoodStill(now)) return undefined;
    for (let candidate = pool.pop(); candidate !== undefined; candidate = pool.pop()) {
      this.#taken(pool, key);
      if (candidate.isUsable && candidate.idleUntil > now) return candidate;
      candidate.destroy();
    }
    return undefined;
  }

  #drop(connection: UpstreamConnection): void {
    this.#remove(connection);
    connection.destroy();
  }

  #remove(connection: UpstreamConnection): void {
    const pool = this.#pools.get(connection.key);
    const at = pool?.lastIndexOf(connection) ?? -1;
    if (pool === undefined || at === -1) return;
    pool.splice(at, 1);
    this.#taken(pool, connection.key);
  }

  /** A connection is no longer in this pool. */
  #taken(pool: readonly UpstreamConnection[], key: string): void {
    this.#idle -= 1;
    if (pool.length === 0) this.#pools.delete(key);
  }

  #startSweeping(): void {
    this.#sweptAt = performance.now();
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** Not whenever no connection is idle: a single client leaves it so again and again. */
  #stopSweeping(): void {
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  /** True until the loop has read all that came meanwhile, which it does before immediates. */
  #stoodStill(now: number): boolean {
    if (now - this.#sweptAt <= SWEEP_MS + STALL_MS) return false;
    this.#isBehind = true;
    this.#sweptAt = now;
    setImmediate(() => (this.#isBehind = false));
    return true;
  }

  #sweep(): void {
    const now = performance.now();
    this.#stoodStill(now);
    this.#sweptAt = now;
    if (this.#idle === 0) this.#stopSweeping();
    for (const pool of this.#pools.values()) {
      for (const connection of pool.filter(({ idleUntil }) => idleUntil <= now)) {
        this.#drop(connection);
      }
    }
  }
}
