/**
 * Stock Knative Serving from the manifests of its own module, with the images that were built here
 * and the few settings that the rig needs. What turns it into Pilotlight is ours alone to apply.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { moduleFolder } from "./build/go-modules.ts";
import { GO_TOOLS } from "./build/pins.ts";
import { stockImage } from "./images/stock.ts";
import { applyText, applyWhenTaken, waitForDeployments } from "./kubectl.ts";
import { GATEWAY, ROOT, runFolder } from "./layout.ts";
import { readManifests, setConfig, toText } from "./manifests.ts";
import type { Manifest } from "./manifests.ts";

export const KNATIVE_NAMESPACE = "knative-serving";
const DEPLOYMENTS = ["activator", "autoscaler", "controller", "webhook"];
/** Kinds that are refused until the webhook answers, or that would make it refuse the others. */
const LAST = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "Image"];

export async function knativeManifests(): Promise<readonly Manifest[]> {
  const module = (name: string): Promise<string> => moduleFolder(GO_TOOLS.serving, name);
  const serving = await module("knative.dev/serving");
  const networking = await module("knative.dev/networking");
  const caching = await module("knative.dev/caching");
  const paths = [
    join(serving, "config/core"),
    // A module's archive leaves symbolic links out; these are their targets.
    ...["ingress", "serverlessservice", "certificate", "domain-claim", "config-network"].map(
      (name) => join(networking, `config/${name}.yaml`),
    ),
    join(caching, "config/image.yaml"),
  ];
  const all = readManifests(paths, (text) =>
    text.replaceAll(/ko:\/\/knative\.dev\/serving\/cmd\/([a-z-]+)/g, (_, name: string) =>
      stockImage(name),
    ),
  );
  return configure(all);
}

function configure(objects: readonly Manifest[]): readonly Manifest[] {
  const settings: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    [
      "config-deployment",
      { "registries-skipping-tag-resolving": "dev.local,ghcr.io", "progress-deadline": "600s" },
    ],
    // On either system, so that first requests are measured without waiting for zero.
    ["config-autoscaler", { "allow-zero-initial-scale": "true" }],
    ["config-network", { "ingress-class": GATEWAY.ingressClass }],
    ["config-domain", { [GATEWAY.domain]: "" }],
  ];
  // One of each is enough here, and there are no metrics to scale them by.
  const kept = objects.filter(({ kind }) => kind !== "HorizontalPodAutoscaler");
  return settings.reduce<readonly Manifest[]>(
    (changed, [name, data]) => setConfig(changed, name, data),
    kept,
  );
}

/** Our changes of stock's objects, step by step, as the guides have people write them. */
const STATES = {
  stock: [],
  sidecar: ["sidecar"],
  pilotlight: ["sidecar", "take-over"],
  "default-class": ["sidecar", "take-over", "default-class"],
} as const;
export type KnativeState = keyof typeof STATES;

/** A folder for `kubectl apply -k`: stock's own manifests with some of our components over them. */
export const stateFolder = (state: KnativeState): string => join(runFolder("knative"), state);

function writeStates(objects: readonly Manifest[]): void {
  for (const state of Object.keys(STATES) as KnativeState[]) {
    const folder = stateFolder(state);
    const componentPath = (name: string): string =>
      relative(folder, join(ROOT, "manifests/components", name));
    const kustomization = {
      resources: ["serving-core.yaml"],
      components: STATES[state].map(componentPath),
    };
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "serving-core.yaml"), toText(objects));
    writeFileSync(join(folder, "kustomization.yaml"), JSON.stringify(kustomization));
  }
}

/** Applies everything and waits until Knative works. */
export async function installKnative(): Promise<void> {
  const objects = await knativeManifests();
  writeStates(objects);
  const of = (wanted: (kind: string) => boolean): string =>
    toText(objects.filter(({ kind }) => wanted(kind)));
  const isDefinition = (kind: string): boolean =>
    kind === "Namespace" || kind === "CustomResourceDefinition";
  await applyText(of(isDefinition));
  await applyText(of((kind) => !isDefinition(kind) && !LAST.includes(kind)));
  await applyText(of((kind) => kind.endsWith("WebhookConfiguration")));
  await waitForDeployments(KNATIVE_NAMESPACE, DEPLOYMENTS);
  await applyWhenTaken(
    "Knative's webhook",
    of((kind) => kind === "Image"),
  );
}
