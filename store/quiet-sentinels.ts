/**
 * ioredis' connector for Sentinels, whose listeners for promotions have nobody to hear their errors:
 * one that does not answer would print them. Each comes back by itself and the next one is asked,
 * so there is nothing to say.
 */
import type { EventEmitter } from "node:events";
import { SentinelConnector } from "ioredis";

/** Made by the connector for each Sentinel; the library declares it private. */
const MAKE = "connectToSentinel";

export class QuietSentinels extends SentinelConnector {
  /** The client hands its own settings over. */
  constructor(settings: unknown) {
    super(settings as ConstructorParameters<typeof SentinelConnector>[0]);
    const make: unknown = Reflect.get(this, MAKE);
    // A later version may do without it; then there is nothing to quieten.
    if (typeof make !== "function") return;
    Reflect.set(this, MAKE, (...of: unknown[]): unknown => {
      const client = make.apply(this, of) as EventEmitter;
      client.on("error", () => undefined);
      return client;
    });
  }
}
