/** Brings the cluster up: tools, network, control plane, nodes, Knative, ingress. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { binFolder, ensureGoTool } from "./build/go-modules.ts";
import { ensureDebianPackages } from "./build/debian.ts";
import { ensureEnvoy } from "./build/envoy.ts";
import { GO_TOOLS } from "./build/pins.ts";
import { makeCertificates } from "./certificates.ts";
import { startApi, startControllers, writeIdentities } from "./control-plane.ts";
import { startDaemon } from "./daemons.ts";
import { dnsManifests } from "./dns.ts";
import { installGateway, startGateway } from "./gateway.ts";
import { ensureStockArchives, importArchive } from "./images/stock.ts";
import { installKnative } from "./knative.ts";
import { applyText, kubectl, waitForDeployments } from "./kubectl.ts";
import { CACHE, DATA, LOGS, NETWORK, NODES, REGISTRY, ROOT } from "./layout.ts";
import { makeNetwork } from "./network.ts";
import { claimCards, startKubelet, startProxy, startRuntime } from "./node.ts";
import type { Progress } from "./progress.ts";

/** Everything that is downloaded or built, once: about ten minutes on a small machine. */
export async function prepare(progress: Progress): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  await ensureDebianPackages(progress);
  await ensureGoTool(GO_TOOLS.kubernetes, progress);
  await ensureGoTool(GO_TOOLS.support, progress);
  await ensureGoTool(GO_TOOLS.serving, progress);
  await ensureGoTool(GO_TOOLS.coredns, progress);
  return ensureEnvoy(progress);
}

/** A running cluster with stock Knative in it. Nothing of an earlier one may be left. */
export async function bringUp(progress: Progress): Promise<void> {
  const envoy = await prepare(progress);
  const bin = binFolder(GO_TOOLS.kubernetes);
  mkdirSync(LOGS, { recursive: true });
  mkdirSync(DATA, { recursive: true });
  await progress.step("Network, certificates, API server", async () => {
    await Promise.all([makeNetwork(), makeCertificates()]);
    writeIdentities();
    await Promise.all([startApi(bin), ...NODES.map(startRuntime)]);
  });
  await progress.step("Nodes and images", async () => {
    startControllers(bin);
    startRegistry();
    await Promise.all([importImages(), ...NODES.map((node) => startNode(node, bin))]);
    await kubectl("wait", "node", "--all", "--for=condition=Ready", "--timeout=120s");
  });
  await progress.step("DNS, Knative Serving, ingress", async () => {
    await applyText(dnsManifests());
    await Promise.all([startGateway(envoy), installGateway()]);
    await installKnative();
    await waitForDeployments("kube-system", ["cluster-dns"]);
  });
}

function startRegistry(): void {
  const program = join(ROOT, "scripts/cluster/images/registry.ts");
  startDaemon({
    name: "registry",
    network: "control",
    program: process.execPath,
    args: [program, REGISTRY.folder, NETWORK.control, String(REGISTRY.port)],
  });
}

async function startNode(node: (typeof NODES)[number], bin: string): Promise<void> {
  startKubelet(node, bin);
  startProxy(node, bin);
  await claimCards(node, bin);
}

async function importImages(): Promise<void> {
  for (const file of await ensureStockArchives()) await importArchive(file);
}
