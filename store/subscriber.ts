/**
 * The second connection, for subscriptions only. It subscribes anew after each reconnect and then
 * says so, because what was published meanwhile is lost.
 */
import { Redis } from "ioredis";
import type { Assignment } from "../common/contracts/channels.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import { PlatformError } from "../common/errors.ts";
import { connectionOptions, logConnection, unavailable } from "./client.ts";
import type { ClientOptions } from "./client.ts";
import type { Keys } from "./keys.ts";
import type { StoreSubscriber } from "./types.ts";

export interface SubscriberOptions extends ClientOptions {
  readonly keys: Keys;
  readonly activatorId?: string | undefined;
}

export interface SubscriberHandle extends StoreSubscriber {
  /** All channels listened to are subscribed. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

type Listener = (message: string) => void;

export function createSubscriber(options: SubscriberOptions): SubscriberHandle {
  const { keys, activatorId, logger } = options;
  const channels = new Map<string, Listener[]>();
  const resubscribed: (() => void)[] = [];
  const subscribed = new Set<string>();
  const client = new Redis(options.url, {
    ...connectionOptions(options, "subscriber"),
    autoResubscribe: false,
    lazyConnect: true,
  });
  logConnection(client, logger, "subscriber");

  const subscribe = async (names: readonly string[]): Promise<void> => {
    if (names.length === 0) return;
    await client.subscribe(...names);
    for (const name of names) subscribed.add(name);
    if (subscribed.size === channels.size) for (const listener of resubscribed) listener();
  };
  // A failure means that the connection broke; the next one subscribes again.
  const trySubscribe = (names: readonly string[]): void =>
    void subscribe(names).catch(() => undefined);

  client.on("ready", () => trySubscribe([...channels.keys()]));
  client.on("close", () => subscribed.clear());
  client.on("message", (channel: string, message: string) => {
    for (const listener of channels.get(channel) ?? []) listener(message);
  });

  const listen = (channel: string, listener: Listener): void => {
    const listeners = channels.get(channel);
    if (listeners !== undefined) {
      listeners.push(listener);
      return;
    }
    channels.set(channel, [listener]);
    if (client.status === "wait") void client.connect().catch(() => undefined);
    else if (client.status === "ready") trySubscribe([channel]);
  };

  return {
    onAssignment: (listener) => {
      if (activatorId === undefined) {
        throw new PlatformError("ERR_INTERNAL", "createStore needs activatorId for onAssignment");
      }
      listen(keys.assignPrefix + activatorId, (message) => {
        const assignment = parseAssignment(message);
        if (assignment === null) logger?.warn("assignment is no JSON object", { message });
        else listener(assignment);
      });
    },
    onWake: (listener) => listen(keys.wakeChannel, (key) => listener(key as RevisionKey)),
    onConfig: (listener) => listen(keys.configChannel, (key) => listener(key as RevisionKey)),
    onResubscribed: (listener) => void resubscribed.push(listener),
    ready: () =>
      waitUntil(() => subscribed.size === channels.size, resubscribed, options.timeoutMs),
    close: async () => {
      client.disconnect();
      await Promise.resolve();
    },
  };
}

/** Resolves when `isDone`, looked at after each (re)subscription. */
function waitUntil(
  isDone: () => boolean,
  resubscribed: (() => void)[],
  timeoutMs: number,
): Promise<void> {
  if (isDone()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(unavailable("no subscription")), timeoutMs);
    resubscribed.push(() => {
      if (!isDone()) return;
      clearTimeout(timer);
      resolve();
    });
  });
}

function parseAssignment(message: string): Assignment | null {
  try {
    const value: unknown = JSON.parse(message);
    // Written by the `announce` include with exactly these fields.
    return typeof value === "object" && value !== null ? (value as Assignment) : null;
  } catch {
    return null;
  }
}
