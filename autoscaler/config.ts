/** Options of the autoscaler in a cluster, read from its environment once and frozen. */
import { randomBytes } from "node:crypto";
import { CELL_MEMBER_TABLE } from "../cells/config.ts";
import type { CellMemberConfig } from "../cells/config.ts";
import { PlatformError } from "../common/errors.ts";
import { integer, oneOf, readConfig, text } from "../foundation/config.ts";
import type { ParserTable } from "../foundation/config.ts";
import { address } from "../foundation/listen-address.ts";
import type { Address } from "../foundation/listen-address.ts";
import { LOG_LEVELS } from "../foundation/logger.ts";
import type { LogLevel } from "../foundation/logger.ts";

/** How a process of a cluster reaches the API server. */
export interface ApiConfig {
  /** Set: this file, instead of the service account. */
  readonly kubeconfig: string;
  readonly apiUrl: string;
  readonly accountFolder: string;
  readonly systemNamespace: string;
}

export interface AutoscalerConfig extends ApiConfig, CellMemberConfig {
  readonly storeUrl: string;
  readonly storePrefix: string;
  /** This life of this process: a second one must not renew the leadership of the first. */
  readonly holder: string;
  readonly shards: number;
  /** Health and metrics. */
  readonly adminListen: Address;
  /** Where CloudEvents go; empty: nowhere. */
  readonly eventSink: string;
  readonly logLevel: LogLevel;
}

export const API_TABLE: ParserTable<ApiConfig> = {
  kubeconfig: ["KUBECONFIG", text("")],
  apiUrl: ["PILOTLIGHT_API_URL", text("https://kubernetes.default.svc")],
  accountFolder: [
    "PILOTLIGHT_ACCOUNT_FOLDER",
    text("/var/run/secrets/kubernetes.io/serviceaccount"),
  ],
  systemNamespace: ["SYSTEM_NAMESPACE", text("knative-serving")],
};

export function readAutoscalerConfig(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<AutoscalerConfig> {
  const config = readConfig<AutoscalerConfig>(env, {
    ...API_TABLE,
    ...CELL_MEMBER_TABLE,
    storeUrl: ["PILOTLIGHT_STORE_URL", text()],
    storePrefix: ["PILOTLIGHT_STORE_PREFIX", text("pl")],
    holder: ["POD_NAME", (value) => `${value ?? "autoscaler"}.${randomBytes(6).toString("hex")}`],
    shards: ["PILOTLIGHT_SHARDS", integer({ min: 1, max: 64, fallback: 1 })],
    adminListen: ["PILOTLIGHT_ADMIN_LISTEN", address(":9090")],
    eventSink: ["K_SINK", text("")],
    logLevel: ["PILOTLIGHT_LOG_LEVEL", oneOf(LOG_LEVELS, "info")],
  });
  refuseSeveralVoices(config);
  return config;
}

/** Revisions of a service may fall into several shards, but its share in a cell has one keeper. */
function refuseSeveralVoices({ cell, shards }: AutoscalerConfig): void {
  if (cell === "" || shards === 1) return;
  const fault = `PILOTLIGHT_SHARDS: got "${shards}", expected 1 where PILOTLIGHT_CELL is set`;
  throw new PlatformError("ERR_CONFIG_INVALID", `Bad configuration.\n${fault}`, {
    details: { faults: [fault] },
  });
}
