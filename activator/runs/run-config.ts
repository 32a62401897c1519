/** Settings of asynchronous runs and webhooks, as variables of the activator. */
import { isIP } from "node:net";
import { integer, text } from "../../foundation/config.ts";
import type { ParserTable } from "../../foundation/config.ts";

export interface RunConfig {
  /** Store of asynchronous runs; empty: the routing store. */
  readonly asyncStoreUrl: string;
  /** Replicas that must have a run before its caller hears 202; 0: the store's own file counts. */
  readonly asyncReplicas: number;
  /** Networks that no webhook may reach, beside private ones: `34.118.224.0/20`. */
  readonly webhookRefusedNetworks: readonly string[];
}

export function runVariables(isLocal: boolean): ParserTable<RunConfig> {
  return {
    asyncStoreUrl: ["PILOTLIGHT_ASYNC_STORE_URL", text("")],
    asyncReplicas: [
      "PILOTLIGHT_ASYNC_REPLICAS",
      integer({ min: 0, max: 10, fallback: isLocal ? 0 : 1 }),
    ],
    webhookRefusedNetworks: ["PILOTLIGHT_WEBHOOK_REFUSED_NETWORKS", networks],
  };
}

function networks(value: string | undefined): readonly string[] {
  const list = (value ?? "").split(",").map((entry) => entry.trim());
  const named = list.filter((entry) => entry !== "");
  for (const entry of named) {
    const [address = "", bits = ""] = entry.split("/");
    const most = isIP(address) === 6 ? 128 : 32;
    if (isIP(address) === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > most) {
      throw new Error(`got "${entry}", expected networks like 10.96.0.0/12`);
    }
  }
  return named;
}
