/**
 * One look at the services of a cluster through the API server, with the rights of whoever looks.
 * For the command line; processes that stay keep copies (`Collection`) instead.
 */
import { readClusterDefaults } from "../core/settings/config-maps.ts";
import { STOCK_DEFAULTS } from "../core/settings/defaults.ts";
import type { ClusterDefaults } from "../core/settings/defaults.ts";
import { apiStatus } from "./api-client.ts";
import type { ApiClient } from "./api-client.ts";
import { clusterServices } from "./cluster-services.ts";
import type { ClusterService } from "./cluster-services.ts";
import { REVISION_LABEL, collectionPath, objectPath } from "./objects.ts";
import type { ConfigMap, KubeList, KubeObject, Resource } from "./objects.ts";

const PAGE = 500;
const FORBIDDEN = 403;
const MAPS = ["autoscaler", "defaults", "deployment"] as const;

/** Rejects with ERR_API_UNAVAILABLE, also where the caller may not list services. */
export async function readClusterServices(
  client: ApiClient,
  systemNamespace: string,
): Promise<readonly ClusterService[]> {
  const [services, revisions, scalers, pods, defaults] = await Promise.all([
    list(client, "services"),
    list(client, "revisions"),
    // Of Knative's own kind: those who only use services may not read it.
    orForbidden(list(client, "podautoscalers"), []),
    orForbidden(list(client, "pods", REVISION_LABEL), []),
    readDefaults(client, systemNamespace),
  ]);
  return clusterServices({ services, revisions, scalers, pods, defaults });
}

/** All objects of a kind, page by page, with the labels of `selector`. */
export async function list<T extends KubeObject>(
  client: ApiClient,
  resource: Resource,
  selector = "",
  namespace?: string,
): Promise<T[]> {
  const objects: T[] = [];
  let next = "";
  do {
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (selector !== "") query.set("labelSelector", selector);
    if (next !== "") query.set("continue", next);
    const path = `${collectionPath(resource, namespace)}?${query.toString()}`;
    const page = await client.read<KubeList<T>>(path);
    objects.push(...(page.items ?? []));
    next = page.metadata?.continue ?? "";
  } while (next !== "");
  return objects;
}

/** Those of the stock maps; where they may not be read, what stock says without them. */
async function readDefaults(client: ApiClient, namespace: string): Promise<ClusterDefaults> {
  const read = MAPS.map(async (map) => {
    const path = objectPath("configmaps", { namespace, name: `config-${map}` });
    return [map, (await client.read<ConfigMap>(path)).data ?? {}] as const;
  });
  const maps = await Promise.allSettled(read);
  const found = maps.flatMap((map) => (map.status === "fulfilled" ? [map.value] : []));
  return readClusterDefaults(Object.fromEntries(found), STOCK_DEFAULTS).defaults;
}

async function orForbidden<T>(work: Promise<T>, fallback: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (apiStatus(error) === FORBIDDEN) return fallback;
    throw error;
  }
}
