/**
 * Names, addresses and folders of the cluster on one machine, in one place: everything the rig
 * makes carries PREFIX, so that a later run can find and remove what a broken one left.
 */
import { join } from "node:path";

/** First part of every network namespace, interface, cgroup and folder of the rig. */
export const PREFIX = "plrig";

export const ROOT = join(import.meta.dirname, "../..");
/** What survives between runs: tools by the hash of their pins, images, the base system. */
export const CACHE = join(ROOT, ".cache/cluster");
/** Sockets, logs, certificates, pid files. Short, since a socket's path has 107 characters. */
export const RUN = join("/run", PREFIX);
/** What needs a disk: container images and layers, kubelet's folders, the cluster's database. */
export const DATA = join("/var/lib", PREFIX);
export const LOGS = join(RUN, "log");
export const KUBECONFIG = join(RUN, "kubeconfig");

/** Addresses set aside for benchmarks (RFC 2544): they never collide with a real network. */
export const NETWORK = {
  range: "198.18.0.0/15",
  nodes: "198.18.0.0/24",
  prefixLength: 24,
  host: "198.18.0.1",
  /** API server, controllers, scheduler, etcd and the ingress gateway. */
  control: "198.18.0.2",
  pods: "198.18.128.0/17",
  services: "198.19.0.0/20",
  apiService: "198.19.0.1",
  dns: "198.19.0.10",
} as const;

export interface ClusterNode {
  readonly name: string;
  readonly address: string;
  readonly pods: string;
  /** Product label and count of the cards that the node claims to have. */
  readonly card: string;
  readonly cards: number;
}

export const NODES: readonly ClusterNode[] = [
  {
    name: "node-a",
    address: "198.18.0.3",
    pods: "198.18.128.0/20",
    card: "NVIDIA-H100-80GB-HBM3",
    cards: 8,
  },
  {
    name: "node-b",
    address: "198.18.0.4",
    pods: "198.18.144.0/20",
    card: "NVIDIA-L4",
    cards: 8,
  },
];

export const API_URL = `https://${NETWORK.control}:6443`;
export const CLUSTER_DOMAIN = "cluster.local";

/** Ports of the ingress gateway in the control namespace. */
export const GATEWAY = {
  namespace: `${PREFIX}-ingress`,
  externalService: "gateway",
  localService: "gateway-local",
  externalPort: 80,
  localPort: 8081,
  adminPort: 9901,
  /** Where people reach it from this machine, as `http://NAME.NAMESPACE.localhost:PORT`. */
  hostPort: 8888,
  ingressClass: `gateway.ingress.${PREFIX}.test`,
  domain: "localhost",
} as const;

/** Where nodes fetch images of this registry: our own, as the examples name them. */
export const REGISTRY = {
  host: "ghcr.io",
  port: 5000,
  url: `http://${NETWORK.control}:5000`,
  /** The folder that the build of our images leaves. */
  folder: join(CACHE, "own-images"),
} as const;

/** The network namespace in which a part lives: a node's name, `control` or the switch between them. */
export const namespaceOf = (part: string): string => `${PREFIX}-${part}`;

export const runFolder = (part: string): string => join(RUN, part);
export const dataFolder = (part: string): string => join(DATA, part);
