/** The ingress: Envoy in the control namespace, its controller, and the Services that lead to it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { kubeconfigOf } from "./control-plane.ts";
import { isRunning, logTail, startDaemon } from "./daemons.ts";
import { applyText, kubectl } from "./kubectl.ts";
import { CLUSTER_DOMAIN, GATEWAY, NETWORK, ROOT, runFolder } from "./layout.ts";
import { toText } from "./manifests.ts";
import type { Manifest } from "./manifests.ts";
import { attempt } from "./run.ts";
import { waitFor } from "./waiting.ts";
import { writeStart } from "../../test/cluster/ingress/envoy.ts";

const ports = {
  address: NETWORK.control,
  external: GATEWAY.externalPort,
  local: GATEWAY.localPort,
  admin: GATEWAY.adminPort,
};

const nameOf = (service: string): string => `${service}.${GATEWAY.namespace}.svc.${CLUSTER_DOMAIN}`;

export async function startGateway(envoy: string): Promise<void> {
  const folder = runFolder("gateway");
  mkdirSync(folder, { recursive: true });
  startDaemon({
    name: "envoy",
    network: "control",
    program: envoy,
    // One worker: an answer from it tells which routes are in force.
    args: ["-c", writeStart(folder, ports), "--concurrency", "1", "--log-level", "warning"].concat(
      "--disable-hot-restart",
    ),
  });
  const settings = {
    kubeconfig: kubeconfigOf("gateway"),
    folder,
    ports,
    ingressClass: GATEWAY.ingressClass,
    externalName: nameOf(GATEWAY.externalService),
    localName: nameOf(GATEWAY.localService),
    hostPort: GATEWAY.hostPort,
  };
  startDaemon({
    name: "ingress-controller",
    program: process.execPath,
    args: [join(ROOT, "test/cluster/ingress/main.ts"), JSON.stringify(settings)],
  });
  await waitFor("Envoy", envoyIsLive, {
    giveUp: () => (isRunning("envoy") ? undefined : `it ended:\n  ${logTail("envoy")}`),
  });
}

async function envoyIsLive(): Promise<boolean> {
  const url = `http://${NETWORK.control}:${GATEWAY.externalPort}/`;
  return (await attempt("curl", ["-s", "-o", "/dev/null", url])).code === 0;
}

/** Services without pods behind them: their endpoints are the gateway's own address. */
export async function installGateway(): Promise<void> {
  const services = [
    service(GATEWAY.externalService, GATEWAY.externalPort),
    service(GATEWAY.localService, GATEWAY.localPort),
  ];
  const namespace: Manifest = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: GATEWAY.namespace },
  };
  await applyText(toText([namespace, ...services.flat()]));
  // Where tests of other projects look for the ingress.
  const status = { status: { loadBalancer: { ingress: [{ ip: NETWORK.control }] } } };
  await kubectl(
    ...`-n ${GATEWAY.namespace} patch service ${GATEWAY.externalService}`.split(" "),
    ...`--subresource=status --type=merge -p ${JSON.stringify(status)}`.split(" "),
  );
}

function service(name: string, port: number): readonly Manifest[] {
  const metadata = { name, namespace: GATEWAY.namespace };
  const named = [
    { name: "http", port: 80, targetPort: port },
    { name: "http2", port: 81, targetPort: port },
  ];
  return [
    { apiVersion: "v1", kind: "Service", metadata, spec: { type: typeOf(name), ports: named } },
    {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata,
      subsets: [
        {
          addresses: [{ ip: NETWORK.control }],
          ports: named.map((one) => ({ name: one.name, port })),
        },
      ],
    },
  ];
}

const typeOf = (name: string): string =>
  name === GATEWAY.externalService ? "LoadBalancer" : "ClusterIP";
