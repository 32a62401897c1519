/** Services into a cluster and out of it. Each object is applied on the server's side, as one field manager. */
import { stat } from "node:fs/promises";
import { apiStatus, orGone } from "../../autoscaler/kubernetes/api-client.ts";
import { readClusterServices } from "../../autoscaler/kubernetes/cluster-reader.ts";
import { keyOf, objectPath } from "../../autoscaler/kubernetes/objects.ts";
import type { KnativeService, KubeObject } from "../../autoscaler/kubernetes/objects.ts";
import { errorText } from "../../common/errors.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { AppliedService, AppliedServices } from "../../local/platform-types.ts";
import { readServiceObjects } from "../../local/service-objects.ts";
import type { ServiceObject } from "../../local/service-objects.ts";
import type { CommandContext } from "../command.ts";
import { findService } from "../run-client.ts";
import { openCluster } from "./open-cluster.ts";
import type { OpenCluster } from "./open-cluster.ts";

const FIELD_MANAGER = "pilotlight";

export async function applyToCluster(
  context: CommandContext,
  paths: readonly string[],
): Promise<AppliedServices> {
  const cluster = await openCluster(context);
  try {
    const { objects, errors } = await readServiceObjects(paths);
    const services: AppliedService[] = [];
    const refused = [...errors];
    for (const object of objects) {
      try {
        services.push(await applyOne(cluster, object));
      } catch (error) {
        const key = keyOfObject(object, cluster.namespace);
        refused.push(`${object.file}:${object.line}: ${key}: ${reasonOf(error)}`);
      }
    }
    return { services, errors: refused, warnings: [] };
  } finally {
    cluster.client.close();
  }
}

async function applyOne(
  { client, namespace: usual }: OpenCluster,
  { object }: ServiceObject,
): Promise<AppliedService> {
  const { name, namespace = usual } = object.metadata;
  const path = objectPath("services", { namespace, name });
  const before = await orGone<KubeObject | null>(client.read<KubeObject>(path), null);
  const after = await client.write<KnativeService>({
    method: "PATCH",
    patch: "apply-patch",
    // Fields that another manager set stay its own: a conflict is an error, not a silent win.
    path: `${path}?fieldManager=${FIELD_MANAGER}`,
    body: object,
  });
  const isSame = before?.metadata.generation === after.metadata.generation;
  const change = before === null ? "created" : isSame ? "unchanged" : "configured";
  const revision = after.status?.latestCreatedRevisionName ?? "";
  return { key: keyOf(namespace, name), change, revision };
}

export async function deleteFromCluster(
  context: CommandContext,
  names: readonly string[],
): Promise<readonly RevisionKey[]> {
  const { client, systemNamespace, namespace: usual } = await openCluster(context);
  try {
    const services = await readClusterServices(client, systemNamespace);
    const removed: RevisionKey[] = [];
    // All are found before the first one goes.
    const keys: RevisionKey[] = [];
    for (const name of names) keys.push(...(await keysOf(services, name, usual)));
    for (const key of keys) {
      const [namespace = "", name = ""] = key.split("/");
      const path = objectPath("services", { namespace, name });
      await orGone<unknown>(client.write({ method: "DELETE", path }), null);
      removed.push(key);
    }
    return removed;
  } finally {
    client.close();
  }
}

/** A name is a service where there is one, else a file or folder that names some. */
async function keysOf(
  services: Awaited<ReturnType<typeof readClusterServices>>,
  name: string,
  namespace: string,
): Promise<readonly RevisionKey[]> {
  const isService = services.some((one) => [one.name, one.key].includes(name));
  if (isService || (await stat(name).catch(() => null)) === null) {
    return [findService({ services }, name).key];
  }
  const { objects } = await readServiceObjects([name]);
  const known = new Set(services.map(({ key }) => key));
  return objects.map((object) => keyOfObject(object, namespace)).filter((key) => known.has(key));
}

function keyOfObject({ object }: ServiceObject, usual: string): RevisionKey {
  const { namespace = usual, name } = object.metadata;
  return keyOf(namespace, name);
}

/** Of a refusal, what the API server says; the call itself is no news. */
function reasonOf(error: unknown): string {
  const text = errorText(error);
  return apiStatus(error) === 0
    ? text
    : text.replace(/^The API server answered \d+ to [A-Z]+ \S+: /, "");
}
