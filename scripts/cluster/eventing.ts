/**
 * Knative Eventing beside Serving: the broker of several tenants over channels in memory, from the
 * manifests of its own module, with images that were built here. Only on request.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { binFolder, ensureGoTool, moduleFolder } from "./build/go-modules.ts";
import { GO_TOOLS } from "./build/pins.ts";
import { writeProgramArchive } from "./images/programs.ts";
import { importArchive } from "./images/stock.ts";
import { applyText, waitForDeployments } from "./kubectl.ts";
import { readManifests, toText } from "./manifests.ts";
import type { Manifest } from "./manifests.ts";
import type { Progress } from "./progress.ts";

export const EVENTING_NAMESPACE = "knative-eventing";

const TOOL = GO_TOOLS.eventing;
const PROGRAMS = TOOL.groups.flat().map((path) => path.slice(path.lastIndexOf("/") + 1));
const FOLDERS = ["core", "channels/in-memory-channel", "brokers/mt-channel-broker"];
const DEPLOYMENTS = [
  "eventing-controller",
  "eventing-webhook",
  "imc-controller",
  "imc-dispatcher",
  "mt-broker-controller",
  "mt-broker-filter",
  "mt-broker-ingress",
];
/** What a broker and its triggers do without. */
const LEFT_OUT = ["job-sink", "request-reply"];
/** The controller asks for images of sources and sinks that nobody makes here; the module lacks the maps. */
const IMAGE_NAMES: Readonly<Record<string, readonly string[]>> = {
  "eventing-transformations-images": ["transform-jsonata"],
  "eventing-integrations-images": [
    "timer-source",
    "aws-s3-source",
    "aws-sqs-source",
    "aws-ddb-streams-source",
    "log-sink",
    "aws-s3-sink",
    "aws-sqs-sink",
    "aws-sns-sink",
  ],
};

const imageOf = (program: string): string => `dev.local/eventing-${program}:rig`;

/** Builds it, once, and brings it into the running cluster; returns when it works. */
export async function installEventing(progress: Progress): Promise<void> {
  await ensureGoTool(TOOL, progress);
  await progress.step("Knative Eventing", async () => {
    await importArchive(await ensureArchive());
    await install(await eventingManifests());
  });
}

async function ensureArchive(): Promise<string> {
  const bin = binFolder(TOOL);
  const file = join(bin, "../images.tar");
  const images = PROGRAMS.map((name) => ({ name: imageOf(name), program: join(bin, name) }));
  if (!existsSync(file)) await writeProgramArchive(images, file);
  return file;
}

async function eventingManifests(): Promise<readonly Manifest[]> {
  const config = join(await moduleFolder(TOOL, "knative.dev/eventing"), "config");
  const all = readManifests(
    FOLDERS.map((folder) => join(config, folder)),
    (text) =>
      text.replaceAll(/ko:\/\/knative\.dev\/eventing\/cmd\/(?:\w+\/)?(\w+)/g, (_, name: string) =>
        imageOf(name),
      ),
  );
  const kept = all.filter(
    ({ kind, metadata }) =>
      kind !== "HorizontalPodAutoscaler" &&
      !(
        ["Deployment", "StatefulSet", "Service"].includes(kind) && LEFT_OUT.includes(metadata.name)
      ),
  );
  return [...kept, ...Object.entries(IMAGE_NAMES).map(imageMap)];
}

function imageMap([name, keys]: readonly [string, readonly string[]]): Manifest {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: EVENTING_NAMESPACE },
    data: Object.fromEntries(keys.map((key) => [key, "dev.local/not-built"])),
  };
}

async function install(objects: readonly Manifest[]): Promise<void> {
  const of = (wanted: (kind: string) => boolean): string =>
    toText(objects.filter(({ kind }) => wanted(kind)));
  const isDefinition = (kind: string): boolean =>
    kind === "Namespace" || kind === "CustomResourceDefinition";
  const isHook = (kind: string): boolean => kind.endsWith("WebhookConfiguration");
  await applyText(of(isDefinition));
  await applyText(of((kind) => !isDefinition(kind) && !isHook(kind)));
  await applyText(of(isHook));
  await waitForDeployments(EVENTING_NAMESPACE, DEPLOYMENTS);
}
