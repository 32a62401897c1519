/** Logs of pods in a cluster, as its API server hands them out. */
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { list, readClusterServices } from "../../autoscaler/kubernetes/cluster-reader.ts";
import {
  REVISION_LABEL,
  SERVICE_LABEL,
  keyOf,
  objectPath,
} from "../../autoscaler/kubernetes/objects.ts";
import type { Pod } from "../../autoscaler/kubernetes/objects.ts";
import { errorText } from "../../common/errors.ts";
import { EXIT } from "../command.ts";
import type { CommandContext, ExitCode } from "../command.ts";
import { NotFoundError, findService } from "../run-client.ts";
import { openCluster } from "./open-cluster.ts";
import type { OpenCluster } from "./open-cluster.ts";

const LOOK_EVERY_MS = 2_000;

export async function clusterLogs(context: CommandContext, name: string): Promise<ExitCode> {
  const cluster = await openCluster(context);
  const stop = new AbortController();
  const off = context.onSignal(() => stop.abort());
  try {
    const find = await podsOf(cluster, name);
    const readers = new Map<string, Promise<void>>();
    const printer = { context, isOne: find.isOne, signal: stop.signal };
    const look = async (): Promise<void> => {
      for (const pod of await find.pods()) {
        const key = pod.metadata.uid ?? pod.metadata.name;
        if (!readers.has(key)) readers.set(key, printLog(cluster, pod, printer));
      }
    };
    await look();
    // Pods come and go while somebody follows.
    while (context.options.flag("follow") && !stop.signal.aborted) {
      await sleepUntil(stop.signal);
      await look();
    }
    await Promise.all(readers.values());
    return EXIT.ok;
  } finally {
    off();
    cluster.client.close();
  }
}

interface FoundPods {
  readonly isOne: boolean;
  pods(): Promise<readonly Pod[]>;
}

/** A pod of that name, else the pods of the service of that name, also those that come later. */
async function podsOf({ client, systemNamespace }: OpenCluster, name: string): Promise<FoundPods> {
  const all = await list<Pod>(client, "pods", REVISION_LABEL);
  const named = all.filter(({ metadata }) =>
    [metadata.name, keyOf(metadata.namespace ?? "", metadata.name)].includes(name),
  );
  if (named.length > 0) return { isOne: true, pods: () => Promise.resolve(named) };
  const services = await readClusterServices(client, systemNamespace);
  if (!services.some((service) => [service.name, service.key].includes(name))) {
    throw new NotFoundError(
      `There is no service and no pod ${name} in the cluster. \`pilotlight ls --cluster\` lists services.`,
    );
  }
  const service = findService({ services }, name);
  const selector = `${SERVICE_LABEL}=${service.name}`;
  return { isOne: false, pods: () => list<Pod>(client, "pods", selector, service.namespace) };
}

interface Printer {
  readonly context: CommandContext;
  readonly isOne: boolean;
  readonly signal: AbortSignal;
}

async function printLog({ client }: OpenCluster, pod: Pod, printer: Printer): Promise<void> {
  const { out, options } = printer.context;
  const { name, namespace = "" } = pod.metadata;
  const query = new URLSearchParams({ container: containerOf(pod, options.flag("sidecar")) });
  if (options.flag("follow")) query.set("follow", "true");
  const path = `${objectPath("pods", { namespace, name })}/log?${query.toString()}`;
  try {
    const body = await client.open(path, printer.signal);
    for await (const line of createInterface({ input: body, crlfDelay: Infinity })) {
      if (options.flag("json")) out.print(JSON.stringify({ pod: name, line }));
      else out.print(printer.isOne ? line : `${name}  ${line}`);
    }
  } catch (error) {
    if (!printer.signal.aborted) out.note(`${name}: ${errorText(error)}`);
  }
}

const SIDECAR = "queue-proxy";

/** The first that is not ours: Knative names it as the user did, else user-container. */
function containerOf(pod: Pod, isSidecar: boolean): string {
  if (isSidecar) return SIDECAR;
  const names = (pod.spec?.containers ?? []).map(({ name = "" }) => name);
  return names.find((name) => name !== SIDECAR) ?? "user-container";
}

async function sleepUntil(signal: AbortSignal): Promise<void> {
  await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
}
