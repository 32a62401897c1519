/**
 * Server-sent events: the history once, then each snapshot. A browser opens one stream for all
 * its tabs; a reader that does not keep up misses snapshots instead of filling memory.
 */
import type { ServerResponse } from "node:http";
import type { Sampler } from "./sampler.ts";

/** More open streams than this mean that something leaks; the next one is told to poll. */
const MAX_STREAMS = 64;
/** Bytes that may wait in the socket of one reader before snapshots are left out. */
const MAX_WAITING_BYTES = 1_000_000;

export interface StreamHub {
  /** Takes over the answer; false when there are too many. */
  open(response: ServerResponse): boolean;
  close(): void;
}

export function createStreamHub(sampler: Sampler): StreamHub {
  const streams = new Set<ServerResponse>();

  sampler.onSample((snapshot) => {
    if (streams.size === 0) return;
    const text = eventText("snapshot", snapshot);
    for (const stream of streams) {
      if (stream.writableLength < MAX_WAITING_BYTES) stream.write(text);
    }
  });

  return {
    open: (response) => {
      if (streams.size >= MAX_STREAMS) return false;
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      });
      // The reader comes back a second after a break, not at once from every browser.
      response.write("retry: 1000\n\n");
      response.write(eventText("history", sampler.history()));
      streams.add(response);
      response.on("close", () => streams.delete(response));
      response.on("error", () => streams.delete(response));
      return true;
    },
    close: () => {
      for (const stream of streams) stream.end();
      streams.clear();
    },
  };
}

function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
