/**
 * The two systems under comparison, and how the cluster is turned from one into the other: by the
 * same overlays and in the same order as the guide tells people.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { stockImage } from "../../../scripts/cluster/images/stock.ts";
import { KNATIVE_NAMESPACE } from "../../../scripts/cluster/knative.ts";
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

const OURS = ["pilotlight-activator", "pilotlight-autoscaler", "pilotlight-webhook"];
const SECRET = "pilotlight-store";
const NAMESPACE = ["-n", KNATIVE_NAMESPACE] as const;

const overlay = (name: string): string => join(ROOT, "manifests/overlays", name);

/** Applies an overlay as the guide says: on the server's side, under our own field manager. */
export async function applyOverlay(name: string): Promise<void> {
  const owner = ["--server-side", "--force-conflicts", "--field-manager=pilotlight"];
  await kubectl("apply", ...owner, "-k", overlay(name));
}

/** Stock becomes Pilotlight; both activators serve for a moment, then only ours. */
export async function becomePilotlight(): Promise<void> {
  await makeSecret();
  await applyOverlay("pilotlight");
  await waitForStore();
  await waitForDeployments(KNATIVE_NAMESPACE, OURS, 180_000);
  await applyOverlay("sidecar");
  await applyOverlay("take-over");
  await waitForActivators("pilotlight");
}

/** The way back: stock's own image first, since the map is refused without one. */
export async function becomeStock(): Promise<void> {
  await scaleActivators("stock", 1);
  await waitForDeployments(KNATIVE_NAMESPACE, [ACTIVATOR.stock]);
  const image = JSON.stringify({ data: { "queue-sidecar-image": stockImage("queue") } });
  await kubectl(
    "patch",
    "configmap",
    "config-deployment",
    ...NAMESPACE,
    "--type=merge",
    "-p",
    image,
  );
  await applyOverlay("stock");
  await kubectl("delete", "-k", overlay("pilotlight"), "--ignore-not-found", "--wait=false");
  await waitFor("our Deployments gone", async () => {
    const { stdout } = await tryKubectl("get", "deployment", ...NAMESPACE, "-o", "name");
    return !OURS.some((name) => stdout.includes(name));
  });
  await waitForActivators("stock");
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

async function waitForStore(): Promise<void> {
  await kubectl("rollout", "status", "statefulset/valkey", ...NAMESPACE, "--timeout=180s");
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
      interface Subsets {
        readonly subsets?: readonly {
          readonly addresses?: readonly { readonly targetRef?: { readonly name: string } }[];
        }[];
      }
      const found = await getObject<Subsets>("endpoints", "activator-service", ...NAMESPACE);
      const addresses = (found?.subsets ?? []).flatMap(({ addresses: list = [] }) => list);
      const names = addresses.map(({ targetRef }) => targetRef?.name ?? "");
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

export const nodeNames: readonly string[] = NODES.map(({ name }) => name);
