/**
 * What a node says about itself: which card its pods get, and whether it will be taken away. Pure.
 * Labels come from the GPU discovery of the vendors or from the cloud.
 */
import { conditionOf } from "./objects.ts";
import type { Node } from "./objects.ts";

export const DEFAULT_CARD = "default";

/** The first label that is there names the card. Ours wins, so that an operator can correct. */
export const CARD_LABELS = [
  "pilotlight.dev/card",
  "nvidia.com/gpu.product",
  "amd.com/gpu.product-name",
  "gpu.intel.com/product",
  "cloud.google.com/gke-accelerator",
  "karpenter.k8s.aws/instance-gpu-name",
  "cloud.google.com/gke-tpu-accelerator",
] as const;

/** Spellings of discovery for cards that people name shorter. */
const NOISE = /^(?:nvidia|amd|tesla|geforce)[-_ ]|[-_](?:pcie|sxm\d?|hbm\d\w?|\d+gb|nvl)\b/gi;

/** `NVIDIA-L40S` is `L40S`; `nvidia-tesla-t4` is `T4`. Empty words stay as they were. */
export function cardName(label: string): string {
  let name = label.trim();
  for (let before = ""; before !== name;) {
    before = name;
    name = name.replaceAll(NOISE, "");
  }
  const shown = (name === "" ? label : name).toUpperCase();
  return shown.replaceAll(/[^A-Z0-9.-]+/g, "-").slice(0, 63);
}

export function cardOf(node: Node | undefined): string {
  const labels = node?.metadata.labels ?? {};
  for (const label of CARD_LABELS) {
    const value = labels[label];
    if (value === undefined || value === "") continue;
    return label === "pilotlight.dev/card" ? value : cardName(value);
  }
  return DEFAULT_CARD;
}

/** Taints by which clouds, autoscalers and operators announce that a node goes. */
export const RECLAIM_TAINTS: Readonly<Record<string, string>> = {
  "aws-node-termination-handler/spot-itn": "its spot instance is being taken back",
  "aws-node-termination-handler/rebalance-recommendation": "its spot instance is at risk",
  "aws-node-termination-handler/scheduled-maintenance": "maintenance is announced",
  "aws-node-termination-handler/asg-lifecycle-termination": "its group is being scaled down",
  "cloud.google.com/impending-node-termination": "its machine is being taken back",
  "node.cloudprovider.kubernetes.io/shutdown": "its machine was shut down",
  "node.kubernetes.io/out-of-service": "it was declared out of service",
  "karpenter.sh/disrupted": "Karpenter replaces it",
  ToBeDeletedByClusterAutoscaler: "the cluster autoscaler removes it",
};

/** Condition of a node by which a node problem detector passes on a cloud's notice. */
const RECLAIM_CONDITIONS = [
  "TerminationScheduled",
  "VMEventScheduled",
  "PreemptScheduled",
] as const;

/** Why the node will be taken away soon, in words; empty while it stays. */
export function reclaimNotice(node: Node | undefined): string {
  if (node === undefined) return "";
  const { taints = [] } = node.spec ?? {};
  for (const { key = "" } of taints) {
    const words = Object.hasOwn(RECLAIM_TAINTS, key) ? RECLAIM_TAINTS[key] : undefined;
    if (words !== undefined) return words;
  }
  const { conditions } = node.status ?? {};
  const type = RECLAIM_CONDITIONS.find((it) => conditionOf(conditions, it)?.status === "True");
  return type === undefined ? "" : `its cloud gave notice (${type})`;
}
