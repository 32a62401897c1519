/** Options of the dashboard of a cluster, read from its environment once and frozen. */
import { API_TABLE } from "../../autoscaler/config.ts";
import type { ApiConfig } from "../../autoscaler/config.ts";
import { oneOf, readConfig, text } from "../../foundation/config.ts";
import { address } from "../../foundation/listen-address.ts";
import type { Address } from "../../foundation/listen-address.ts";
import { LOG_LEVELS } from "../../foundation/logger.ts";
import type { LogLevel } from "../../foundation/logger.ts";

export interface DashboardConfig extends ApiConfig {
  readonly storeUrl: string;
  readonly storePrefix: string;
  /** Store of asynchronous runs; empty: the routing store. */
  readonly asyncStoreUrl: string;
  /** The page and its figures; for port-forwards only, unless somebody says otherwise. */
  readonly listen: Address;
  /** Health and metrics of the process. */
  readonly adminListen: Address;
  /** As PILOTLIGHT_CARD_PRICES of local mode; empty: prices are not known. */
  readonly cardPrices: string;
  readonly logLevel: LogLevel;
}

export function readDashboardConfig(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<DashboardConfig> {
  return readConfig<DashboardConfig>(env, {
    ...API_TABLE,
    storeUrl: ["PILOTLIGHT_STORE_URL", text()],
    storePrefix: ["PILOTLIGHT_STORE_PREFIX", text("pl")],
    asyncStoreUrl: ["PILOTLIGHT_ASYNC_STORE_URL", text("")],
    listen: ["PILOTLIGHT_DASHBOARD_LISTEN", address("127.0.0.1:8090")],
    adminListen: ["PILOTLIGHT_ADMIN_LISTEN", address(":9090")],
    cardPrices: ["PILOTLIGHT_CARD_PRICES", text("")],
    logLevel: ["PILOTLIGHT_LOG_LEVEL", oneOf(LOG_LEVELS, "info")],
  });
}
