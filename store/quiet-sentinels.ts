/**
 * ioredis' connector for Sentinels, whose listeners for promotions have nobody behind them: the
 * errors of one that does not answer would be printed, and a subscription that it loses while it
 * comes back would end the process as a rejection that nobody handles. Each listener comes back by
 * itself, and the next Sentinel is asked meanwhile, so there is nothing to say.
 */
import type { EventEmitter } from "node:events";
import { SentinelConnector } from "ioredis";

/** Made by the connector for each Sentinel; the library declares it private. */
const MAKE = "connectToSentinel";

interface SentinelClient extends EventEmitter {
  subscribe(...channels: unknown[]): Promise<unknown>;
}

export class QuietSentinels extends SentinelConnector {
  /** The client hands its own settings over. */
  constructor(settings: unknown) {
    super(settings as ConstructorParameters<typeof SentinelConnector>[0]);
    const make: unknown = Reflect.get(this, MAKE);
    // A later version may do without it; then there is nothing to quieten.
    if (typeof make !== "function") return;
    Reflect.set(this, MAKE, (...of: unknown[]) => quieten(make.apply(this, of) as SentinelClient));
  }
}

function quieten(client: SentinelClient): SentinelClient {
  client.on("error", () => undefined);
  const subscribe = client.subscribe.bind(client);
  // Whoever asks gets the rejection all the same; the library itself asks without listening.
  client.subscribe = (...channels) => {
    const answer = subscribe(...channels);
    answer.catch(() => undefined);
    return answer;
  };
  return client;
}
