/**
 * Stock Knative Serving from the manifests of its own module, with the images that were built here
 * and the few settings that the rig needs. What turns it into Pilotlight is ours alone to apply.
 */
import { join } from "node:path";
import { moduleFolder } from "./build/go-modules.ts";
import { GO_TOOLS } from "./build/pins.ts";
import { stockImage } from "./images/stock.ts";
import { applyText, applyWhenTaken, waitForDeployments } from "./kubectl.ts";
import { GATEWAY } from "./layout.ts";
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

/** Applies everything and waits until Knative works. */
export async function installKnative(): Promise<void> {
  const objects = await knativeManifests();
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
