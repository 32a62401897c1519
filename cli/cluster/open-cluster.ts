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

const DASHBOARD_PORT = 8090;
const DASHBOARD = "pilotlight.dev/part=dashboard";

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
export async function forwardDashboard(
  { client, config, systemNamespace }: OpenCluster,
  localPort = 0,
): Promise<Forwarded> {
  const pods = await list<Pod>(client, "pods", DASHBOARD, systemNamespace);
  const pod = pods.find(isReady);
  if (pod === undefined) {
    const what =
      pods.length === 0
        ? `No dashboard runs in namespace ${systemNamespace}: is Pilotlight installed there?`
        : `The dashboard in namespace ${systemNamespace} is not ready.`;
    const cure = `kubectl -n ${systemNamespace} get pods -l ${DASHBOARD}`;
    throw new PlatformError("ERR_NOT_RUNNING", `${what} Look with: ${cure}`);
  }
  const place = { namespace: systemNamespace, pod: pod.metadata.name, port: DASHBOARD_PORT };
  return forwardPort(config, place, localPort);
}
