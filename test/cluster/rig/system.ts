/**
 * The two systems under comparison, and how the cluster is turned from one into the other: by the
 * same overlays and in the same order as the guide tells people.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { KNATIVE_NAMESPACE, stateFolder } from "../../../scripts/cluster/knative.ts";
import {
  getObject,
  kubectl,
  tryKubectl,
  waitForDeployments,
} from "../../../scripts/cluster/kubectl.ts";
import { NODES, ROOT } from "../../../scripts/cluster/layout.ts";
import { waitFor } from "../../../scripts/cluster/waiting.ts";

export type System = "stock" | "pilotlight";

/** The autoscaler class under which each system scales a service. */
export const CLASS: Readonly<Record<System, string>> = {
  stock: "kpa.autoscaling.knative.dev",
  pilotlight: "scaler.pilotlight.dev",
};

export const ACTIVATOR: Readonly<Record<System, string>> = {
  stock: "activator",
  pilotlight: "pilotlight-activator",
};

/** Deployments in Knative's namespace. */
export const OURS = ["pilotlight-activator", "pilotlight-autoscaler", "pilotlight-webhook"];
const SECRET = "pilotlight-store";
const NAMESPACE = ["-n", KNATIVE_NAMESPACE] as const;

const PILOTLIGHT = join(ROOT, "manifests/overlays/pilotlight");

/** Applies a folder of manifests the way everything here is applied: on the server's side. */
async function applyFolder(folder: string): Promise<void> {
  await kubectl("apply", "--server-side", "--force-conflicts", "-k", folder);
}

/** Stock becomes Pilotlight: sidecars first, since stock ones tell our activators nothing. */
export async function becomePilotlight(): Promise<void> {
  await makeSecret();
  await applyFolder(stateFolder("sidecar"));
  await waitForSidecars("pilotlight");
  await applyFolder(PILOTLIGHT);
  await kubectl("rollout", "status", "statefulset/valkey", ...NAMESPACE, "--timeout=240s");
  await waitForDeployments(KNATIVE_NAMESPACE, OURS, 240_000);
  await applyFolder(stateFolder("pilotlight"));
  await waitForActivators("pilotlight");
}

/** The way back, in the reverse order: the stock file alone. */
export async function becomeStock(): Promise<void> {
  await applyFolder(stateFolder("sidecar"));
  await waitForDeployments(KNATIVE_NAMESPACE, [ACTIVATOR.stock]);
  await scaleActivators("pilotlight", 0);
  await waitForActivators("stock");
  await kubectl("delete", "-k", PILOTLIGHT, "--ignore-not-found", "--wait=false");
  await applyFolder(stateFolder("stock"));
  await waitForSidecars("stock");
  await waitFor("our Deployments gone", async () => {
    const { stdout } = await tryKubectl("get", "deployment", ...NAMESPACE, "-o", "name");
    return !OURS.some((name) => stdout.includes(name));
  });
}

/**
 * Every pod that serves has this system's queue-proxy. One that is going may take its whole grace
 * period: kubelet asks a pod that was started anew at an address which it has no more.
 */
async function waitForSidecars(system: System): Promise<void> {
  await waitFor(
    `the queue-proxy of ${system} in every pod`,
    async () => {
      const images = (await servingPods()).map(({ spec }) => spec.containers.at(-1)?.image ?? "");
      const others = images.filter(
        (image) => image.includes("pilotlight") !== (system === "pilotlight"),
      );
      if (others.length === 0) return true;
      throw new Error(`${others.length} pods have ${others[0]}`);
    },
    { timeoutMs: 240_000, everyMs: 500 },
  );
}

interface ServingPod {
  readonly metadata: { readonly deletionTimestamp?: string };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
}

/** Pods of revisions that are not going. */
export async function servingPods(): Promise<readonly ServingPod[]> {
  const selector = "serving.knative.dev/revision";
  const list = await getObject<{ items: readonly ServingPod[] }>("pods", "-A", "-l", selector);
  return (list?.items ?? []).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

async function makeSecret(): Promise<void> {
  if ((await getObject("secret", SECRET, ...NAMESPACE)) !== undefined) return;
  const word = (): string => randomBytes(18).toString("hex");
  const values = [
    `--from-literal=password=${word()}`,
    `--from-literal=internal-password=${word()}`,
  ];
  await kubectl("create", "secret", "generic", SECRET, ...NAMESPACE, ...values);
}

export async function scaleActivators(system: System, replicas: number): Promise<void> {
  const name = `deployment/${ACTIVATOR[system]}`;
  await kubectl("scale", name, ...NAMESPACE, `--replicas=${replicas}`);
}

/** Puts the activators on one node, so that what is measured is the loss of pods, not of the way to them. */
export async function pinActivators(system: System, node: string | null): Promise<void> {
  const selector = { "kubernetes.io/hostname": node };
  const patch = { spec: { template: { spec: { nodeSelector: selector } } } };
  const args = ["deployment", ACTIVATOR[system], ...NAMESPACE, "--type=merge", "-p"];
  await kubectl("patch", ...args, JSON.stringify(patch));
  await waitForDeployments(KNATIVE_NAMESPACE, [ACTIVATOR[system]]);
}

/** Waits until the stock Service leads to this system's activators and to no others. */
export async function waitForActivators(system: System, count?: number): Promise<void> {
  await waitFor(
    `the activators of ${system} in the Service`,
    async () => {
      const names = await namesBehind("activator-service", KNATIVE_NAMESPACE);
      const ours = names.filter((name) => name.startsWith("pilotlight-")).length;
      const wanted = system === "pilotlight" ? ours : names.length - ours;
      if (wanted > 0 && wanted === names.length && (count === undefined || wanted === count)) {
        return true;
      }
      throw new Error(`it leads to ${names.join(", ")}`);
    },
    { timeoutMs: 120_000, everyMs: 250 },
  );
}

/**
 * Waits until the ingress leads to our activators for this revision. Where no activator was ready for a
 * moment, stock's controller leads it to the pods themselves ("Forcing SKS into Serve mode").
 */
export async function waitForActivatorsInFront(revision: string): Promise<void> {
  await waitFor(
    `activators in front of ${revision}`,
    async () => {
      const names = await namesBehind(revision, "default");
      if (names.length > 0 && names.every((name) => name.startsWith("pilotlight-"))) return true;
      throw new Error(`it leads to ${names.join(", ") || "nobody"}`);
    },
    { timeoutMs: 120_000, everyMs: 250 },
  );
}

/** Names of the pods that a Service leads to. */
async function namesBehind(service: string, namespace: string): Promise<readonly string[]> {
  interface Endpoints {
    readonly subsets?: readonly {
      readonly addresses?: readonly { readonly targetRef?: { readonly name: string } }[];
    }[];
  }
  const found = await getObject<Endpoints>("endpoints", service, "-n", namespace);
  const addresses = (found?.subsets ?? []).flatMap(({ addresses: list = [] }) => list);
  return addresses.map(({ targetRef }) => targetRef?.name ?? "");
}

export const nodeNames: readonly string[] = NODES.map(({ name }) => name);
