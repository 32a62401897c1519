/** One node: containerd, kubelet and kube-proxy in a network namespace and a control group of their own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { certificate, key } from "./certificates.ts";
import { cgroupOf, makeCgroup } from "./cgroups.ts";
import { kubeconfigOf } from "./control-plane.ts";
import { isRunning, logTail, startDaemon } from "./daemons.ts";
import { CLUSTER_DOMAIN, NETWORK, REGISTRY, dataFolder, runFolder } from "./layout.ts";
import type { ClusterNode } from "./layout.ts";
import { attempt } from "./run.ts";
import { waitFor } from "./waiting.ts";

export const PAUSE_IMAGE = "dev.local/pause:rig";

export const socketOf = (node: string): string => join(runFolder(node), "containerd.sock");

/** Starts the container runtime; images can be brought in as soon as this returns. */
export async function startRuntime({ name, pods }: ClusterNode): Promise<void> {
  makeCgroup(cgroupOf(name));
  mkdirSync(join(runFolder(name), "cni"), { recursive: true });
  writeFileSync(join(runFolder(name), "containerd.toml"), containerdConfig(name));
  writeFileSync(join(runFolder(name), "cni/10-pods.conflist"), cniConfig(name, pods));
  startDaemon({
    name: `containerd-${name}`,
    network: name,
    program: "containerd",
    args: ["--config", join(runFolder(name), "containerd.toml"), "--log-level", "warn"],
  });
  await waitFor(
    `containerd of ${name}`,
    async () => (await attempt("ctr", ["-a", socketOf(name), "version"])).code === 0,
    { timeoutMs: 60_000, giveUp: () => ended(`containerd-${name}`) },
  );
}

export function startKubelet(node: ClusterNode, bin: string): void {
  const config = join(runFolder(node.name), "kubelet.json");
  mkdirSync(dataFolder(node.name), { recursive: true });
  writeFileSync(config, JSON.stringify(kubeletConfig(node)));
  startDaemon({
    name: `kubelet-${node.name}`,
    network: node.name,
    program: join(bin, "kubelet"),
    args: [
      `--config=${config}`,
      `--kubeconfig=${kubeconfigOf(node.name)}`,
      `--root-dir=${join(dataFolder(node.name), "kubelet")}`,
      `--cert-dir=${join(dataFolder(node.name), "kubelet/pki")}`,
      `--hostname-override=${node.name}`,
      `--node-ip=${node.address}`,
      `--node-labels=nvidia.com/gpu.product=${node.card},nvidia.com/gpu.count=${node.cards}`,
    ],
  });
}

export function startProxy({ name, address }: ClusterNode, bin: string): void {
  startDaemon({
    name: `kube-proxy-${name}`,
    network: name,
    program: join(bin, "kube-proxy"),
    args: [
      `--kubeconfig=${kubeconfigOf("proxy")}`,
      `--hostname-override=${name}`,
      "--proxy-mode=iptables",
      `--cluster-cidr=${NETWORK.pods}`,
      "--metrics-bind-address=127.0.0.1",
      `--healthz-bind-address=${address}`,
      // It may not write these limits from inside a namespace.
      "--conntrack-max-per-core=0",
      "--conntrack-tcp-timeout-established=0",
      "--conntrack-tcp-timeout-close-wait=0",
    ],
  });
}

/** Tells the cluster that the node has cards, which the scheduler and the kubelet then count. */
export async function claimCards(node: ClusterNode, bin: string): Promise<void> {
  const amount = { "nvidia.com/gpu": String(node.cards) };
  const patch = JSON.stringify({ status: { capacity: amount, allocatable: amount } });
  const args = ["patch", "node", node.name, "--subresource=status", "--type=merge", "-p", patch];
  await waitFor(
    `the node ${node.name} in the API`,
    async () => {
      const kubectl = join(bin, "kubectl");
      return (await attempt(kubectl, ["--kubeconfig", kubeconfigOf("admin"), ...args])).code === 0;
    },
    { timeoutMs: 120_000, giveUp: () => ended(`kubelet-${node.name}`) },
  );
}

const ended = (daemon: string): string | undefined =>
  isRunning(daemon) ? undefined : `it ended:\n  ${logTail(daemon)}`;

function containerdConfig(node: string): string {
  const cri = `plugins."io.containerd.grpc.v1.cri"`;
  return `version = 2
root = "${dataFolder(`${node}/containerd`)}"
state = "${runFolder(`${node}/containerd`)}"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]

[grpc]
  address = "${socketOf(node)}"

[${cri}]
  sandbox_image = "${PAUSE_IMAGE}"
  # runc may not lower this below its parent's value.
  restrict_oom_score_adj = true
  tolerate_missing_hugetlb_controller = true
  # Where the sweep finds them, not among everybody's.
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"

[${cri}.registry.mirrors."${REGISTRY.host}"]
  endpoint = ["${REGISTRY.url}"]

[${cri}.cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "${runFolder(`${node}/cni`)}"

[${cri}.containerd]
  default_runtime_name = "runc"
  snapshotter = "overlayfs"

[${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[${cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
`;
}

/** Every pod gets a cable of its own to the node, so that all its traffic passes the node's rules. */
function cniConfig(node: string, pods: string): string {
  const ipam = {
    type: "host-local",
    dataDir: runFolder(`${node}/addresses`),
    ranges: [[{ subnet: pods }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  return JSON.stringify({
    cniVersion: "0.4.0",
    name: `${node}-pods`,
    plugins: [{ type: "ptp", ipMasq: false, ipam }],
  });
}

function kubeletConfig({ name, address }: ClusterNode): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address,
    healthzBindAddress: "127.0.0.1",
    containerRuntimeEndpoint: `unix://${socketOf(name)}`,
    clusterDomain: CLUSTER_DOMAIN,
    clusterDNS: [NETWORK.dns],
    resolvConf: "",
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${cgroupOf(name)}`,
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    evictionHard: {
      "memory.available": "64Mi",
      "nodefs.available": "1%",
      "imagefs.available": "1%",
      "nodefs.inodesFree": "1%",
    },
    imageGCHighThresholdPercent: 100,
    podLogsDir: join(dataFolder(name), "logs"),
    volumePluginDir: join(dataFolder(name), "volume-plugins"),
    tlsCertFile: certificate(`kubelet-${name}`),
    tlsPrivateKeyFile: key(`kubelet-${name}`),
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: certificate("ca") },
    },
    authorization: { mode: "Webhook" },
    serializeImagePulls: false,
  };
}
