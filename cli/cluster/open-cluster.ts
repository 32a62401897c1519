/** A cluster as the caller's kubeconfig names it, and the port of its dashboard. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { accessOf, loadKubeconfig } from "../../autoscaler/kubernetes/api-access.ts";
import type { Kubeconfig } from "../../autoscaler/kubernetes/api-access.ts";
import { createApiClient } from "../../autoscaler/kubernetes/api-client.ts";
import type { ApiClient } from "../../autoscaler/kubernetes/api-client.ts";
import { list } from "../../autoscaler/kubernetes/cluster-reader.ts";
import type { Pod } from "../../autoscaler/kubernetes/objects.ts";
import { isReady } from "../../autoscaler/kubernetes/pod-facts.ts";
import { forwardPort } from "../../autoscaler/kubernetes/port-forward.ts";
import type { Forwarded } from "../../autoscaler/kubernetes/port-forward.ts";
import { PUSH_PORT } from "../../common/contracts/push.ts";
import { PlatformError } from "../../common/errors.ts";
import type { CommandContext } from "../command.ts";

export interface OpenCluster {
  readonly config: Kubeconfig;
  readonly client: ApiClient;
  /** Name of the context in use. */
  readonly context: string;
  /** `https://HOST:PORT` of the API server. */
  readonly server: string;
  /** Of objects that name none. */
  readonly namespace: string;
  /** Of Knative Serving and of us. */
  readonly systemNamespace: string;
}

/** A part of ours with a port for whoever may forward it. */
interface Part {
  readonly name: "dashboard" | "activator";
  readonly port: number;
}

const DASHBOARD: Part = { name: "dashboard", port: 8090 };
const ACTIVATOR: Part = { name: "activator", port: PUSH_PORT };

type Env = CommandContext["env"];

/** Sends nothing yet. */
export async function openCluster({
  env,
  options,
}: Pick<CommandContext, "env" | "options">): Promise<OpenCluster> {
  const files = kubeconfigFiles(env);
  if (files.length === 0) {
    throw new PlatformError(
      "ERR_NOT_RUNNING",
      "No kubeconfig: KUBECONFIG names no file that exists, and ~/.kube/config is not there. " +
        "Set KUBECONFIG, or leave --cluster out for the platform on this machine.",
    );
  }
  const config = await loadKubeconfig(files, options.text("context"));
  const access = accessOf(config, files.join(", "));
  return {
    config,
    client: createApiClient(access),
    context: config.getCurrentContext(),
    server: access.url.origin,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace || "default",
    systemNamespace: env["SYSTEM_NAMESPACE"] || "knative-serving",
  };
}

/** Those that exist, in the order of kubectl. */
export function kubeconfigFiles(env: Env): readonly string[] {
  const named = (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  const usual = join(env["HOME"] ?? homedir(), ".kube/config");
  return (named.length > 0 ? named : [usual]).filter((file) => existsSync(file));
}

/** Its page and figures on a port of this machine; `localPort` 0: any free one. */
export function forwardDashboard(cluster: OpenCluster, localPort = 0): Promise<Forwarded> {
  return forwardPart(cluster, DASHBOARD, localPort);
}

/** The admin side of one that is ready. */
export function forwardActivator(cluster: OpenCluster): Promise<Forwarded> {
  return forwardPart(cluster, ACTIVATOR, 0);
}

async function forwardPart(
  { client, config, systemNamespace }: OpenCluster,
  { name, port }: Part,
  localPort: number,
): Promise<Forwarded> {
  const label = `pilotlight.dev/part=${name}`;
  const pods = await list<Pod>(client, "pods", label, systemNamespace);
  const pod = pods.find(isReady);
  if (pod === undefined) {
    const what =
      pods.length === 0
        ? `No ${name} runs in namespace ${systemNamespace}: is Pilotlight installed there?`
        : `The ${name} in namespace ${systemNamespace} is not ready.`;
    const cure = `kubectl -n ${systemNamespace} get pods -l ${label}`;
    throw new PlatformError("ERR_NOT_RUNNING", `${what} Look with: ${cure}`);
  }
  const place = { namespace: systemNamespace, pod: pod.metadata.name, port };
  return forwardPort(config, place, localPort);
}
