/**
 * The second connection, for subscriptions only. It subscribes anew after each reconnect and then
 * says so, because what was published meanwhile is lost.
 */
import type { Redis } from "ioredis";
import type { Assignment } from "../common/contracts/channels.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import { PlatformError } from "../common/errors.ts";
import { closeClient, createSubscriberClient, unavailable } from "./client.ts";
import type { ClientOptions } from "./client.ts";
import type { Keys } from "./keys.ts";
import type { StealOffer, StoreSubscriber } from "./types.ts";

export interface SubscriberOptions extends ClientOptions {
  readonly keys: Keys;
  readonly activatorId?: string | undefined;
}

/** How a message about a steal begins; all others on the channel of an activator are assignments. */
const STEAL = '{"steal":true,';
/** How often a quiet connection is asked whether it still stands. */
const PING_MS = 1_000;

type Listener = (message: string) => void;

export class Subscriber implements StoreSubscriber {
  readonly #options: SubscriberOptions;
  readonly #client: Redis;
  readonly #listeners = new Map<string, Listener[]>();
  /** Channels in force on the present connection. */
  readonly #subscribed = new Set<string>();
  readonly #resubscribed: (() => void)[] = [];
  readonly #waiters = new Set<() => void>();
  readonly #pinging: NodeJS.Timeout;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.#client = createSubscriberClient(options);
    this.#client.on("ready", () => this.#subscribe([...this.#listeners.keys()]));
    this.#client.on("close", () => this.#subscribed.clear());
    this.#pinging = setInterval(() => this.#ping(), PING_MS);
    // A process that does nothing else may end.
    this.#pinging.unref();
    this.#client.on("message", (channel: string, message: string) => {
      for (const listener of this.#listeners.get(channel) ?? []) listener(message);
    });
  }

  onAssignment(listener: (assignment: Assignment) => void): void {
    this.#listenToOwn((message) => {
      if (message.startsWith(STEAL)) return;
      const assignment = this.#parse(message);
      // Written by the `announce` include with exactly these fields.
      if (assignment !== null) listener(assignment as unknown as Assignment);
    });
  }

  onSteal(listener: (offer: StealOffer) => void): void {
    this.#listenToOwn((message) => {
      if (!message.startsWith(STEAL)) return;
      const offer = this.#parse(message);
      // Written by the `offer-steal` include with exactly these fields.
      if (offer !== null) listener(offer as unknown as StealOffer);
    });
  }

  onWake(listener: (revision: RevisionKey) => void): void {
    this.#listen(this.#options.keys.wakeChannel, (key) => listener(key as RevisionKey));
  }

  onConfig(listener: (revision: RevisionKey) => void): void {
    this.#listen(this.#options.keys.configChannel, (key) => listener(key as RevisionKey));
  }

  onCells(listener: (message: string) => void): void {
    this.#listen(this.#options.keys.cellsChannel, listener);
  }

  onResubscribed(listener: () => void): void {
    this.#resubscribed.push(listener);
  }

  /** Resolves when all channels listened to are in force. */
  ready(): Promise<void> {
    if (this.#isComplete) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiters.delete(done);
        reject(unavailable("no subscription"));
      }, this.#options.timeoutMs);
      this.#waiters.add(done);
    });
  }

  close(): void {
    clearInterval(this.#pinging);
    closeClient(this.#client);
  }

  get #isComplete(): boolean {
    return this.#subscribed.size === this.#listeners.size;
  }

  /** An answer that stays out ends the connection (`socketTimeout`), and a new one is made. */
  #ping(): void {
    if (this.#client.status === "ready") this.#client.ping().catch(() => undefined);
  }

  #listenToOwn(listener: Listener): void {
    const { activatorId, keys } = this.#options;
    if (activatorId === undefined) {
      throw new PlatformError("ERR_INTERNAL", "this needs createStore with an activatorId");
    }
    this.#listen(keys.assignPrefix + activatorId, listener);
  }

  #parse(message: string): object | null {
    const value = parseObject(message);
    if (value === null) this.#options.logger?.warn("message is no JSON object", { message });
    return value;
  }

  #listen(channel: string, listener: Listener): void {
    const listeners = this.#listeners.get(channel);
    if (listeners !== undefined) {
      listeners.push(listener);
      return;
    }
    this.#listeners.set(channel, [listener]);
    // A failed connect is tried again by the client; its error event is logged.
    if (this.#client.status === "wait") this.#client.connect().catch(() => undefined);
    else if (this.#client.status === "ready") this.#subscribe([channel]);
  }

  #subscribe(channels: readonly string[]): void {
    if (channels.length === 0) return;
    this.#client.subscribe(...channels).then(
      () => this.#entered(channels),
      // The connection broke meanwhile; the next one subscribes to all.
      () => undefined,
    );
  }

  #entered(channels: readonly string[]): void {
    for (const channel of channels) this.#subscribed.add(channel);
    if (!this.#isComplete) return;
    for (const listener of this.#resubscribed) listener();
    for (const done of this.#waiters) done();
    this.#waiters.clear();
  }
}

function parseObject(message: string): object | null {
  try {
    const value: unknown = JSON.parse(message);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
