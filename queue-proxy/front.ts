/** The data port: limits of the front and of the pool towards the container, with their reasons. */
import { createFront, type SocketFront } from "../proxy/front.ts";
import type { FrontHooks } from "../proxy/types.ts";
import { createUpstream } from "../proxy/upstream.ts";
import type { QueueProxyConfig } from "./config.ts";

/** As stock: about 1 MiB of headers. */
const MAX_HEAD_BYTES = 1_048_576;
const HEAD_TIMEOUT_MS = 60_000;
/** Longer than the pools in front keep idle connections (stock: 90 s), so that we never close first. */
const KEEP_ALIVE_MS = 120_000;
/** Under the 5 s after which many servers close; a longer hint of the server is honoured. */
const CONTAINER_IDLE_MS = 4_000;
const UNLIMITED_POOL = 1_000;
/** Kept to repeat a request whose kept connection turned out dead; the activator keeps its own. */
const REPLAY_BYTES = 65_536;

export function createDataFront(hooks: FrontHooks, config: QueueProxyConfig): SocketFront {
  const { containerConcurrency, proxyFront } = config;
  const upstream = createUpstream({
    idleMs: CONTAINER_IDLE_MS,
    maxIdlePerHost: containerConcurrency === 0 ? UNLIMITED_POOL : containerConcurrency,
  });
  return createFront(
    {
      form: proxyFront,
      maxHeadBytes: MAX_HEAD_BYTES,
      headTimeoutMs: HEAD_TIMEOUT_MS,
      keepAliveMs: KEEP_ALIVE_MS,
      maxConnections: 0,
      replayBytes: REPLAY_BYTES,
    },
    hooks,
    upstream,
  );
}
