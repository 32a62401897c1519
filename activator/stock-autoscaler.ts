/**
 * The websocket to the stock autoscaler (contract 3.7). Revisions of its class never leave zero
 * without it; it drops what it is told of others. Only in a cluster.
 */
import { WebSocket } from "ws";
import type { Clock } from "../common/clock.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { Random } from "../common/random.ts";
import type { Logger } from "../foundation/logger.ts";
import { encodeStockStats } from "./core/stock-stats-message.ts";
import type { StockStat } from "./core/stock-stats.ts";
import { StockStats } from "./core/stock-stats.ts";

const REPORT_EVERY_MS = 1_000;
const HANDSHAKE_MS = 3_000;
const PING_EVERY_MS = 3_330;
/** Without a pong for this long the connection counts as lost. */
const SILENCE_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const PAUSE_FACTOR = 1.3;
const PAUSE_STEPS = 20;
const PAUSE_JITTER = 0.5;

export interface StockAutoscalerOptions {
  readonly url: string;
  readonly podName: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** What a request tells of itself. */
export interface StockObserver {
  arrived(revision: RevisionKey): void;
  left(revision: RevisionKey): void;
}

export class StockAutoscaler implements StockObserver {
  readonly #options: StockAutoscalerOptions;
  readonly #stats = new StockStats();
  #socket: WebSocket | undefined;
  #failures = 0;
  #isStopped = false;
  #reporting: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: StockAutoscalerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#reporting = setInterval(
      () => this.#send(this.#stats.report(this.#nowS())),
      REPORT_EVERY_MS,
    );
    this.#connect();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#reporting);
    clearTimeout(this.#retry);
    this.#socket?.terminate();
  }

  arrived(revision: RevisionKey): void {
    const stat = this.#stats.arrived(revision, this.#nowS());
    if (stat !== null) this.#send([stat]);
  }

  left(revision: RevisionKey): void {
    this.#stats.left(revision, this.#nowS());
  }

  /** While there is no connection the figures of a period are lost, as with the stock activator. */
  #send(stats: readonly StockStat[]): void {
    if (stats.length === 0 || this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send(encodeStockStats(stats, this.#options.podName), { binary: true });
  }

  #connect(): void {
    const { url, logger } = this.#options;
    const socket = new WebSocket(url, {
      handshakeTimeout: HANDSHAKE_MS,
      perMessageDeflate: false,
    });
    this.#socket = socket;
    let heardAt = performance.now();
    const pinging = setInterval(() => {
      if (performance.now() - heardAt > SILENCE_MS) return socket.terminate();
      if (socket.readyState === WebSocket.OPEN) socket.ping();
    }, PING_EVERY_MS);
    socket.on("open", () => {
      heardAt = performance.now();
      this.#failures = 0;
      logger.debug("stock autoscaler connected", { url });
    });
    socket.on("pong", () => {
      heardAt = performance.now();
    });
    socket.on("error", (error) => logger.debug("stock autoscaler not reached", { url, error }));
    socket.on("close", () => {
      clearInterval(pinging);
      this.#connectLater();
    });
  }

  #connectLater(): void {
    if (this.#isStopped) return;
    const step = this.#failures % PAUSE_STEPS;
    this.#failures += 1;
    const jitter = 1 + PAUSE_JITTER * this.#options.random();
    this.#retry = setTimeout(() => this.#connect(), FIRST_PAUSE_MS * PAUSE_FACTOR ** step * jitter);
  }

  #nowS(): number {
    return this.#options.clock.now() / 1_000;
  }
}
