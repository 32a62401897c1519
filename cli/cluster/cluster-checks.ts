/** What the doctor looks at in a cluster: can it be reached, what is installed, what may you do. */
import { apiStatus } from "../../autoscaler/kubernetes/api-client.ts";
import type { ApiClient } from "../../autoscaler/kubernetes/api-client.ts";
import { list } from "../../autoscaler/kubernetes/cluster-reader.ts";
import { RESOURCES } from "../../autoscaler/kubernetes/objects.ts";
import type { Pod } from "../../autoscaler/kubernetes/objects.ts";
import { isReady, waitingFor } from "../../autoscaler/kubernetes/pod-facts.ts";
import { errorText } from "../../common/errors.ts";
import type { CommandContext } from "../command.ts";
import type { Finding, Health } from "../doctor/check.ts";
import { openCluster } from "./open-cluster.ts";
import type { OpenCluster } from "./open-cluster.ts";

const GUIDE = "docs/guides/install-on-a-cluster.md";

/** Parts of ours, and what it means when none is ready. */
const PARTS: readonly (readonly [part: string, missing: Health, meaning: string])[] = [
  ["activator", "fail", "no revision at zero can be reached"],
  ["autoscaler", "fail", "nothing starts from zero"],
  ["webhook", "warn", "nobody says what is wrong with a service"],
  ["store", "warn", "none of ours: the Secret pilotlight-store then names one that is there"],
  ["dashboard", "warn", "top, describe and explain have no figures"],
];

/** What commands need, in the words of a role. */
const RIGHTS: readonly (readonly [what: string, right: Right])[] = [
  ["list services", { group: "serving.knative.dev", resource: "services", verb: "list" }],
  ["apply services", { group: "serving.knative.dev", resource: "services", verb: "patch" }],
  ["delete services", { group: "serving.knative.dev", resource: "services", verb: "delete" }],
  ["read logs", { group: "", resource: "pods", subresource: "log", verb: "get" }],
];

interface Right {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly subresource?: string;
  readonly namespace?: string;
}

export async function checkInCluster(context: CommandContext): Promise<readonly Finding[]> {
  let cluster: OpenCluster;
  try {
    cluster = await openCluster(context);
  } catch (error) {
    return [
      finding("kubeconfig", "fail", errorText(error), "Set KUBECONFIG, or name a --context."),
    ];
  }
  try {
    const known = finding("kubeconfig", "ok", `context ${cluster.context}, ${cluster.server}`);
    const server = await checkServer(cluster.client);
    // Of a server that does not answer, every other line would say the same.
    if (server.health === "fail") return [known, server];
    const rest = [checkKnative(cluster.client), checkParts(cluster), checkRights(cluster)];
    return [known, server, ...(await Promise.all(rest)).flat()];
  } finally {
    cluster.client.close();
  }
}

async function checkServer(client: ApiClient): Promise<Finding> {
  try {
    const { gitVersion } = await client.read<{ readonly gitVersion: string }>("/version");
    return finding("API server", "ok", `Kubernetes ${gitVersion}`);
  } catch (error) {
    const isRefused = [401, 403].includes(apiStatus(error));
    const cure = isRefused
      ? "Log in again, as your cluster wants it."
      : "Is it up, and reachable from here?";
    return finding("API server", "fail", errorText(error), cure);
  }
}

async function checkKnative(client: ApiClient): Promise<Finding[]> {
  try {
    await client.read(RESOURCES.services);
    return [finding("Knative", "ok", "serving.knative.dev/v1 is served")];
  } catch (error) {
    const text = apiStatus(error) === 404 ? "Knative Serving is not installed" : errorText(error);
    return [finding("Knative", "fail", text, `Install it first: ${GUIDE}`)];
  }
}

async function checkParts({ client, systemNamespace }: OpenCluster): Promise<Finding[]> {
  let pods: readonly Pod[];
  try {
    pods = await list<Pod>(client, "pods", "pilotlight.dev/part", systemNamespace);
  } catch (error) {
    const cure = `Ask for the right to list pods in ${systemNamespace}.`;
    return [finding("Pilotlight", "warn", errorText(error), cure)];
  }
  if (pods.length === 0) {
    const text = `no pod of it in namespace ${systemNamespace}`;
    return [finding("Pilotlight", "fail", text, `Install it: ${GUIDE}`)];
  }
  return PARTS.map(([part, missing, meaning]) => {
    const own = pods.filter(({ metadata }) => metadata.labels?.["pilotlight.dev/part"] === part);
    const ready = own.filter(isReady).length;
    const waits = own.map(waitingFor).find((text) => text !== "") ?? "";
    const text = `${ready} of ${own.length} pods ready${waits === "" ? "" : `: ${waits}`}`;
    const cure = `kubectl -n ${systemNamespace} describe pods -l pilotlight.dev/part=${part}`;
    if (ready === 0) return finding(part, missing, `${text}; ${meaning}`, cure);
    return ready < own.length ? finding(part, "warn", text, cure) : finding(part, "ok", text);
  });
}

async function checkRights({
  client,
  namespace,
  systemNamespace,
}: OpenCluster): Promise<Finding[]> {
  const forward: Right = {
    group: "",
    resource: "pods",
    subresource: "portforward",
    verb: "create",
    namespace: systemNamespace,
  };
  const wanted = [...RIGHTS, ["reach the dashboard", forward] as const];
  const asked = wanted.map(async ([what, right]) => {
    const where = right.namespace ?? namespace;
    const isAllowed = await mayI(client, { ...right, namespace: where });
    if (isAllowed) return finding("rights", "ok", `you may ${what} in ${where}`);
    const { group, resource, subresource, verb } = right;
    const kind = [resource, subresource].filter((word) => word !== undefined).join("/");
    const cure = `Ask for ${verb} on ${kind}${group === "" ? "" : ` of ${group}`} in ${where}.`;
    return finding("rights", "warn", `you may not ${what} in ${where}`, cure);
  });
  return Promise.all(asked);
}

async function mayI(client: ApiClient, right: Right): Promise<boolean> {
  const { status } = await client.write<{ readonly status?: { readonly allowed?: boolean } }>({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: right },
    },
  });
  return status?.allowed === true;
}

function finding(name: string, health: Health, text: string, cure = ""): Finding {
  return { name, health, text, cure };
}
