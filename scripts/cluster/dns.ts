/** The cluster's DNS: two servers, so that losing one node does not take the names away. */
import { DNS_IMAGE } from "./images/stock.ts";
import { CLUSTER_DOMAIN, NETWORK } from "./layout.ts";
import { toText } from "./manifests.ts";
import type { Manifest } from "./manifests.ts";

const LABELS = { "k8s-app": "cluster-dns" };
const META = { name: "cluster-dns", namespace: "kube-system", labels: LABELS };

const COREFILE = `.:53 {
  errors
  health
  ready
  kubernetes ${CLUSTER_DOMAIN} in-addr.arpa {
    ttl 5
  }
  cache 5
}
`;

const RULES = [
  {
    apiGroups: [""],
    resources: ["endpoints", "services", "pods", "namespaces"],
    verbs: ["list", "watch"],
  },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
];

const POD = {
  serviceAccountName: META.name,
  dnsPolicy: "Default",
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { labelSelector: { matchLabels: LABELS }, topologyKey: "kubernetes.io/hostname" },
      ],
    },
  },
  containers: [
    {
      name: "coredns",
      image: DNS_IMAGE,
      imagePullPolicy: "IfNotPresent",
      resources: { requests: { cpu: "20m", memory: "30Mi" } },
      volumeMounts: [{ name: "config", mountPath: "/etc/coredns" }],
      readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
      securityContext: {
        allowPrivilegeEscalation: false,
        capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] },
        runAsUser: 0,
      },
    },
  ],
  volumes: [{ name: "config", configMap: { name: META.name } }],
};

export function dnsManifests(): string {
  const role = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: META.name };
  const account = { kind: "ServiceAccount", name: META.name, namespace: META.namespace };
  const ports = ["UDP", "TCP"].map((protocol) => ({
    name: `dns-${protocol.toLowerCase()}`,
    port: 53,
    protocol,
  }));
  const objects: readonly Manifest[] = [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: META },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: META.name },
      rules: RULES,
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: META.name },
      roleRef: role,
      subjects: [account],
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata: META, data: { Corefile: COREFILE } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: META,
      spec: { clusterIP: NETWORK.dns, selector: LABELS, ports },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: META,
      spec: {
        replicas: 2,
        selector: { matchLabels: LABELS },
        template: { metadata: { labels: LABELS }, spec: POD },
      },
    },
  ];
  return toText(objects);
}
