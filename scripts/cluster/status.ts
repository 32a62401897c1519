/** What `cluster:status` says, and what `cluster:up` says at its end: how to use the cluster. */
import { daemonNames, isRunning } from "./daemons.ts";
import { anythingThere } from "./down.ts";
import { kubectlPath, tryKubectl } from "./kubectl.ts";
import { API_URL, GATEWAY, KUBECONFIG, LOGS, NETWORK } from "./layout.ts";
import { lockOwner } from "./lock.ts";

export async function statusText(): Promise<string> {
  const owner = lockOwner();
  const busy = owner === undefined ? [] : [`In use by \`${owner.command}\`, process ${owner.pid}.`];
  if (!anythingThere()) return ["No cluster here.", ...busy].join("\n");
  const names = daemonNames();
  const dead = names.filter((name) => !isRunning(name));
  const nodes = await tryKubectl("get", "nodes", "-o", "wide");
  const pods = await tryKubectl("get", "pods", "-A");
  const sick = dead.length === 0 ? [] : [`Ended by itself: ${dead.join(", ")}. See ${LOGS}.`];
  const head =
    nodes.code === 0 ? "The cluster is up." : "A cluster is there, but its API does not answer.";
  return [
    head,
    ...busy,
    ...sick,
    `${names.length - dead.length} of ${names.length} programs run.`,
    "",
    (nodes.stdout || nodes.stderr).trim(),
    "",
    pods.stdout.trim(),
  ].join("\n");
}

export function usageText(): string {
  return `
  kubectl      ${kubectlPath()}
  KUBECONFIG   ${KUBECONFIG}
  API server   ${API_URL}
  services     http://NAME.NAMESPACE.localhost:${GATEWAY.hostPort}
               (from a script: http://${NETWORK.control}:${GATEWAY.externalPort} with the Host header NAME.NAMESPACE.localhost)
  logs         ${LOGS}

  export KUBECONFIG=${KUBECONFIG}
  alias kubectl=${kubectlPath()}
  kubectl get nodes

npm run cluster:status shows what runs, npm run cluster:down removes everything.
`;
}

export const isHealthy = async (): Promise<boolean> =>
  (await tryKubectl("get", "--raw", "/readyz")).code === 0;
