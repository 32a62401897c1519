/** The files under `manifests/` as objects, for tests that need no Kustomize. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";

export const MANIFESTS = join(import.meta.dirname, "../../manifests");

export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources?: unknown;
  readonly securityContext?: unknown;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly terminationGracePeriodSeconds?: number;
  readonly serviceAccountName?: string;
}

export function objectsIn(folder: string): ManifestObject[] {
  return resourcesOf(folder).flatMap((file) => readObjects(join(folder, file)));
}

export function readObjects(file: string): ManifestObject[] {
  const documents = parseAllDocuments(readFileSync(join(MANIFESTS, file), "utf8"));
  return documents.map((document) => document.toJS() as ManifestObject);
}

/** Files that the folder's kustomization names. */
export function resourcesOf(folder: string): string[] {
  const text = readFileSync(join(MANIFESTS, folder, "kustomization.yaml"), "utf8");
  const listed = /^resources:\n((?: {2}- .*\n)+)/m.exec(text)?.[1] ?? "";
  const inline = /^resources: \[(.*)\]/m.exec(text)?.[1] ?? "";
  const names = [...listed.matchAll(/- (\S+)/g)].map((match) => match[1] ?? "");
  return [...names, ...inline.split(",").map((name) => name.trim())].filter((name) =>
    name.endsWith(".yaml"),
  );
}

/** Files of patches that it names. */
export function patchesIn(folder: string): string[] {
  const text = readFileSync(join(MANIFESTS, folder, "kustomization.yaml"), "utf8");
  return [...text.matchAll(/^ {2}- path: (\S+)$/gm)].map((match) => match[1] ?? "");
}

export function filesIn(folder: string): string[] {
  return readdirSync(join(MANIFESTS, folder)).filter((name) => name.endsWith(".yaml"));
}

export function find(
  objects: readonly ManifestObject[],
  kind: string,
  name: string,
): ManifestObject {
  const found = objects.find((it) => it.kind === kind && it.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

interface Workload {
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: PodSpec;
  };
}

export function podOf({ spec }: ManifestObject): Workload["template"] {
  // A Deployment or a StatefulSet has one.
  return (spec as unknown as Workload).template;
}

export function containerOf(workload: ManifestObject, name: string): Container {
  const found = podOf(workload).spec.containers.find((container) => container.name === name);
  if (found === undefined) throw new Error(`${workload.metadata.name} has no container ${name}`);
  return found;
}
