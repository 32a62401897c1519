/** etcd, API server, controllers and scheduler, in the control namespace. */
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { certificate, key } from "./certificates.ts";
import { isRunning, logTail, startDaemon, stopDaemons } from "./daemons.ts";
import { API_URL, KUBECONFIG, NETWORK, NODES, dataFolder, runFolder } from "./layout.ts";
import { waitFor } from "./waiting.ts";
import { attempt } from "./run.ts";

const ETCD = "http://127.0.0.1:2379";

interface Identity {
  readonly user: string;
  readonly groups: string;
}

/** Everybody who talks to the API server from outside the pods; the file is read once, at its start. */
const identities: Readonly<Record<string, Identity>> = {
  admin: { user: "admin", groups: "system:masters" },
  "controller-manager": { user: "system:kube-controller-manager", groups: "" },
  scheduler: { user: "system:kube-scheduler", groups: "" },
  proxy: { user: "system:kube-proxy", groups: "" },
  gateway: { user: "gateway", groups: "system:masters" },
  ...Object.fromEntries(
    NODES.map(({ name }) => [name, { user: `system:node:${name}`, groups: "system:nodes" }]),
  ),
};

export const kubeconfigOf = (name: string): string =>
  name === "admin" ? KUBECONFIG : join(runFolder("auth"), `${name}.kubeconfig`);

const tokenFile = join(runFolder("auth"), "tokens.csv");

/** Tokens for everybody and the files that carry them. Needs the certificates. */
export function writeIdentities(): void {
  mkdirSync(runFolder("auth"), { recursive: true, mode: 0o700 });
  const rows = Object.entries(identities).map(([name, { user, groups }]) => {
    const token = randomBytes(24).toString("hex");
    writeFileSync(kubeconfigOf(name), kubeconfig(token), { mode: 0o600 });
    return `${token},${user},${name}${groups === "" ? "" : `,"${groups}"`}`;
  });
  writeFileSync(tokenFile, `${rows.join("\n")}\n`, { mode: 0o600 });
}

function kubeconfig(token: string): string {
  const cluster = { server: API_URL, "certificate-authority": certificate("ca") };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "rig", cluster }],
    users: [{ name: "rig", user: { token } }],
    contexts: [{ name: "rig", context: { cluster: "rig", user: "rig" } }],
    "current-context": "rig",
  });
}

/** Starts the API server and what it needs; returns when it is ready. */
export async function startApi(bin: string): Promise<void> {
  startEtcd();
  startApiServer(bin);
  await waitForApi(bin);
}

export async function waitForApi(bin: string): Promise<void> {
  await waitFor(
    "the API server",
    async () => {
      const args = ["--kubeconfig", KUBECONFIG, "get", "--raw", "/readyz"];
      return (await attempt(join(bin, "kubectl"), args)).code === 0;
    },
    {
      timeoutMs: 120_000,
      giveUp: () => {
        const dead = ["etcd", "kube-apiserver"].find((name) => !isRunning(name));
        return dead === undefined ? undefined : `${dead} ended:\n  ${logTail(dead)}`;
      },
    },
  );
}

/** Takes the API server away, as in an outage, without touching what it stores. */
export async function stopApiServer(): Promise<void> {
  await stopDaemons(["kube-apiserver"], 1_000);
}

export function startEtcd(): void {
  startDaemon({
    name: "etcd",
    network: "control",
    program: "etcd",
    args: [
      `--data-dir=${dataFolder("etcd")}`,
      `--listen-client-urls=${ETCD}`,
      `--advertise-client-urls=${ETCD}`,
      "--listen-peer-urls=http://127.0.0.1:2380",
      "--unsafe-no-fsync",
      "--logger=zap",
      "--log-level=warn",
    ],
  });
}

export function startApiServer(bin: string): void {
  startDaemon({
    name: "kube-apiserver",
    network: "control",
    program: join(bin, "kube-apiserver"),
    args: [
      `--etcd-servers=${ETCD}`,
      `--bind-address=${NETWORK.control}`,
      `--advertise-address=${NETWORK.control}`,
      "--secure-port=6443",
      `--service-cluster-ip-range=${NETWORK.services}`,
      `--tls-cert-file=${certificate("apiserver")}`,
      `--tls-private-key-file=${key("apiserver")}`,
      `--client-ca-file=${certificate("ca")}`,
      `--token-auth-file=${tokenFile}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${key("service-accounts")}`,
      `--service-account-signing-key-file=${key("service-accounts")}`,
      `--kubelet-client-certificate=${certificate("kubelet-client")}`,
      `--kubelet-client-key=${key("kubelet-client")}`,
      "--kubelet-preferred-address-types=InternalIP",
      `--requestheader-client-ca-file=${certificate("front-proxy-ca")}`,
      "--requestheader-allowed-names=front-proxy",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-username-headers=X-Remote-User",
      `--proxy-client-cert-file=${certificate("front-proxy")}`,
      `--proxy-client-key-file=${key("front-proxy")}`,
      // Webhooks are reached at their pods: the control namespace has no kube-proxy.
      "--enable-aggregator-routing=true",
      "--allow-privileged=true",
    ],
  });
}

export function startControllers(bin: string): void {
  startControllerManager(bin);
  startDaemon({
    name: "kube-scheduler",
    network: "control",
    program: join(bin, "kube-scheduler"),
    args: [
      `--kubeconfig=${kubeconfigOf("scheduler")}`,
      "--leader-elect=false",
      "--bind-address=127.0.0.1",
      "--authorization-always-allow-paths=*",
    ],
  });
}

function startControllerManager(bin: string): void {
  startDaemon({
    name: "kube-controller-manager",
    network: "control",
    program: join(bin, "kube-controller-manager"),
    args: [
      `--kubeconfig=${kubeconfigOf("controller-manager")}`,
      "--leader-elect=false",
      "--bind-address=127.0.0.1",
      "--use-service-account-credentials",
      `--service-account-private-key-file=${key("service-accounts")}`,
      `--root-ca-file=${certificate("ca")}`,
      `--cluster-signing-cert-file=${certificate("ca")}`,
      `--cluster-signing-key-file=${key("ca")}`,
      `--service-cluster-ip-range=${NETWORK.services}`,
      // Nodes bring their own ranges of pod addresses.
      "--allocate-node-cidrs=false",
    ],
  });
}
