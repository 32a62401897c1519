/**
 * Ends a connection whose server owes replies and says nothing, as one does that stands still or
 * whose cable is cut. The client's own way, a timer and a listener for each time that something is
 * read, costs as much as reading it; here a look ten times a second compares two numbers.
 */
import type { Redis } from "ioredis";

const LOOK_EVERY_MS = 100;

/** Ends connections of the client after that time of silence, give or take a tenth of a second. */
export function endWhenSilent(client: Redis, silenceMs: number): void {
  let timer: NodeJS.Timeout | undefined;
  let bytesHeard = 0;
  let quietSince = 0;
  let lookedAt = 0;
  const look = (): void => {
    const { stream, commandQueue } = client;
    const now = performance.now();
    // Timers ring before sockets are read: a process that stood still has not heard yet.
    const stoodStill = now - lookedAt > 3 * LOOK_EVERY_MS;
    lookedAt = now;
    if (stoodStill || commandQueue.length === 0 || stream.bytesRead !== bytesHeard) {
      bytesHeard = stream.bytesRead;
      quietSince = now;
    } else if (now - quietSince >= silenceMs) {
      stop();
      stream.destroy(new Error(`The store owes replies and said nothing for ${silenceMs} ms`));
    }
  };
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  client.on("connect", () => {
    stop();
    quietSince = performance.now();
    lookedAt = quietSince;
    timer = setInterval(look, LOOK_EVERY_MS).unref();
  });
  client.on("close", stop);
}
