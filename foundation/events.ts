/**
 * CloudEvents out: one place builds them, sinks send them. A slow or dead sink costs events,
 * never work: the queue is bounded and what does not fit is counted and dropped.
 */
import { CloudEvent, HTTP } from "cloudevents";
import type { Logger } from "./logger.ts";

export interface PlatformEvent {
  /** `dev.pilotlight.scale.changed`. */
  readonly type: string;
  /** What it is about, e.g. the key of a revision. */
  readonly subject: string;
  /** Instant, ms since the epoch. */
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export type EventSink = (event: CloudEvent<Readonly<Record<string, unknown>>>) => Promise<void>;

export interface EventEmitter {
  emit(event: PlatformEvent): void;
  /** Events that were dropped because the queue was full or the sink failed. */
  readonly dropped: number;
  stop(): Promise<void>;
}

export interface EventEmitterOptions {
  /** URI reference of the process, e.g. `/pilotlight/autoscaler`. */
  readonly source: string;
  readonly sink: EventSink;
  readonly logger: Logger;
  readonly queueLimit?: number;
}

const DEFAULT_QUEUE_LIMIT = 1_000;

export function createEventEmitter(options: EventEmitterOptions): EventEmitter {
  const queue: PlatformEvent[] = [];
  const limit = options.queueLimit ?? DEFAULT_QUEUE_LIMIT;
  let dropped = 0;
  let draining: Promise<void> | null = null;

  const drain = async (): Promise<void> => {
    for (let event = queue.shift(); event !== undefined; event = queue.shift()) {
      try {
        await options.sink(toCloudEvent(options.source, event));
      } catch (error) {
        dropped += 1;
        options.logger.warn("event not delivered", { type: event.type, error });
      }
    }
    draining = null;
  };

  return {
    emit: (event) => {
      if (queue.length >= limit) dropped += 1;
      else queue.push(event);
      draining ??= drain();
    },
    get dropped() {
      return dropped;
    },
    stop: async () => {
      await draining;
    },
  };
}

export function toCloudEvent(
  source: string,
  event: PlatformEvent,
): CloudEvent<Readonly<Record<string, unknown>>> {
  return new CloudEvent({
    source,
    type: event.type,
    subject: event.subject,
    time: new Date(event.at).toISOString(),
    datacontenttype: "application/json",
    data: event.data,
  });
}

/** Posts each event in structured mode; anything but a 2xx answer is a failure. */
export function httpEventSink(url: string, timeoutMs = 5_000): EventSink {
  return async (event) => {
    const message = HTTP.structured(event);
    const response = await fetch(url, {
      method: "POST",
      // The library types header values as unknown lists; for a structured event they are texts.
      headers: Object.entries(message.headers).map(([name, value]) => [name, String(value)]),
      body: String(message.body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`event sink answered ${response.status}`);
  };
}
