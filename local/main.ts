/**
 * The whole platform on one machine: wires the store, the activators, the same controller as in a
 * cluster with local adapters, and the dashboard. The order of `#parts` is the order of the start;
 * the stop goes the other way, so that pods drain while activators and store still serve.
 */
import type { Lifecycle, Part } from "../foundation/lifecycle.ts";
import { createLifecycle } from "../foundation/lifecycle.ts";
import { createLogger } from "../foundation/logger.ts";
import type { Logger } from "../foundation/logger.ts";
import { LocalPlatform } from "./platform.ts";
import type { PlatformEvent, PlatformUrls, ServiceSummary } from "./platform-types.ts";

export type { PlatformEvent, PlatformUrls, ServiceSummary } from "./platform-types.ts";

export interface PlatformOptions {
  /** Service files, or folders of them. */
  readonly files: readonly string[];
  /** Public port on 127.0.0.1; 0 picks a free one. Default 8080. */
  readonly port?: number;
  /** Default: the port after the public one where it is free, else any. */
  readonly dashboardPort?: number;
  /** Default `.pilotlight/run` under the current folder. */
  readonly runFolder?: string;
  /** Default 2. */
  readonly activatorCount?: number;
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Applies changes of the files while it runs. Default `watch`. */
  readonly files_?: never;
  readonly changes?: "watch" | "ignore";
  readonly onEvent?: (event: PlatformEvent) => void;
  /** The controller's log; default: warnings and worse on standard error. */
  readonly logger?: Logger;
}

export interface Platform {
  readonly urls: PlatformUrls;
  readonly runFolder: string;
  services(): readonly ServiceSummary[];
  /** Calls for each event from now on; answers the function that ends that. */
  onEvent(listener: (event: PlatformEvent) => void): () => void;
  /** Drains pods for at most `graceMs` (default 10 s). A second call with less hurries the first. */
  stop(graceMs?: number): Promise<void>;
}
