/** Manifests as values: read from files, changed where the rig differs, ordered, and turned into text. */
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/** What has to be there before the rest: kinds in the order in which they are applied. */
const FIRST = [
  "Namespace",
  "CustomResourceDefinition",
  "ServiceAccount",
  "ClusterRole",
  "Role",
  "ClusterRoleBinding",
  "RoleBinding",
  "ConfigMap",
  "Secret",
  "Service",
  "Deployment",
];

/** Every object of the YAML files below the given paths, with words of the text replaced first. */
export function readManifests(
  paths: readonly string[],
  replace: (text: string) => string = (text) => text,
): readonly Manifest[] {
  const files = paths.flatMap(yamlFiles);
  return files
    .flatMap((file) => parseManifests(replace(readFileSync(file, "utf8"))))
    .toSorted(byKind);
}

/** Every object of one text, in its order. */
export function parseManifests(text: string): readonly Manifest[] {
  const objects = parseAllDocuments(text).map((one) => one.toJS() as Manifest | null);
  return objects.flatMap((one) => (one?.kind === undefined ? [] : [one]));
}

export function toText(objects: readonly Manifest[]): string {
  return objects.map((one) => stringify(one)).join("---\n");
}

/** Sets keys of a ConfigMap among the objects; a name that is not there is a mistake. */
export function setConfig(
  objects: readonly Manifest[],
  name: string,
  data: Readonly<Record<string, string>>,
): readonly Manifest[] {
  if (!objects.some((one) => one.kind === "ConfigMap" && one.metadata.name === name)) {
    throw new Error(`There is no ConfigMap ${name} to set ${Object.keys(data).join(", ")} in`);
  }
  return objects.map((one) =>
    one.kind === "ConfigMap" && one.metadata.name === name
      ? { ...one, data: { ...(one["data"] as object | undefined), ...data } }
      : one,
  );
}

function byKind(left: Manifest, right: Manifest): number {
  return rank(left.kind) - rank(right.kind);
}

function rank(kind: string): number {
  const place = FIRST.indexOf(kind);
  return place === -1 ? FIRST.length : place;
}

function yamlFiles(path: string): readonly string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".yaml"))
    .sort()
    .map((name) => join(path, name));
}
