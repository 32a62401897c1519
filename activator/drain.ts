/**
 * The end of an activator, in an order that loses nothing: say not ready, wait for routes to
 * notice, stop accepting, serve what waits and runs, give the rest back, leave, close.
 */
import type { ActivatorParts } from "./activator.ts";

/** Largest limits of the revisions in use are waited for; this is added for their answers. */
const GRACE_MS = 1_000;
/** WebSocket: going away. */
const GOING_AWAY = 1001;
/** For the last calls to a store that may be gone. */
const FAREWELL_MS = 2_000;

export async function drainActivator(parts: ActivatorParts): Promise<void> {
  const { front, upgraded, options, health } = parts;
  // 1. The kubelet's probe fails and the endpoints lose us; requests are served as before.
  health.stopping = "received SIGTERM from kubelet";
  await pause(options.config.lameDuckMs);
  // 2. No new connections; a request on an open one is served, and told to close.
  front.stopAccepting();
  parts.internalTls?.close();
  options.cells?.stopAccepting();
  // 3. Nobody knows how long a socket lives, and its client knows how to come back.
  for (const exchange of upgraded) exchange.cut(GOING_AWAY);
  // 4. Waiting requests keep their places: their connections are here. Pods still push here, since
  //    a first ready pod may be what they wait for.
  //    Runs that wait have no connection: another activator takes them at once.
  const served = Promise.all([front.drained(), options.cells?.drained(), parts.runs?.drain()]);
  await withinMs(served, longestRequestMs(parts));
  await close(parts);
}

/** 5. What is left is cut; its slots go back before the connection to the store does. */
async function close(parts: ActivatorParts): Promise<void> {
  const { front, upstream, pushServer, keeper, intake, returns, revisions, options } = parts;
  await front.close();
  await options.cells?.close();
  parts.runs?.close();
  upstream.close();
  keeper.stop();
  parts.stockAutoscaler?.stop();
  intake.close();
  await withinMs(parts.ranking?.log.flush() ?? Promise.resolve(), FAREWELL_MS);
  await withinMs(returns.settled(), FAREWELL_MS);
  const { store, config, logger } = options;
  const leaving = [...revisions.all()].map((entry) =>
    store.leaveRevision(entry.key, config.activatorId).catch((error: unknown) => {
      // Its entry lapses by itself.
      logger.debug("revision not left", { revision: entry.key, error });
    }),
  );
  await withinMs(Promise.all(leaving), FAREWELL_MS);
  revisions.close();
  await pushServer.close();
}

function longestRequestMs({ revisions }: ActivatorParts): number {
  let longest = 0;
  for (const { busy, config } of revisions.all()) {
    if (!busy || config === null) continue;
    const waitMs = Math.max(config.queueTimeoutMs, config.activationTimeoutMs);
    const runMs = Math.max(config.timeoutMs, config.async?.maxDurationMs ?? 0);
    longest = Math.max(longest, waitMs + runMs);
  }
  return longest + GRACE_MS;
}

async function withinMs(work: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}

function pause(ms: number): Promise<void> {
  return ms === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}
