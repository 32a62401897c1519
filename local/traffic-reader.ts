/**
 * The traffic block of a Service with every fault of it at once, in the texts of a Knative Route.
 */
import { isMap } from "./field-reader.ts";
import type { FieldReader, YamlMap } from "./field-reader.ts";
import type { TrafficEntry } from "./service-types.ts";

const NAME_PATTERN = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const MAX_NAME_LENGTH = 63;
export const LABEL_DETAILS =
  "lower case letters, digits and '-', starting with a letter, at most 63 characters";

const ALL_TO_LATEST: TrafficEntry = { revision: null, percent: 100, tag: "" };

export function isLabel(name: string): boolean {
  return NAME_PATTERN.test(name) && name.length <= MAX_NAME_LENGTH;
}

export function readTraffic(reader: FieldReader, spec: YamlMap): readonly TrafficEntry[] {
  const entries = reader.list(spec, "traffic", "spec.traffic");
  if (entries.length === 0) return [ALL_TO_LATEST];
  const traffic = entries.flatMap((entry, index): TrafficEntry[] => {
    const path = `spec.traffic[${index}]`;
    if (isMap(entry)) return [readEntry(reader, entry, path)];
    reader.invalid(entry, path, "must be a map");
    return [];
  });
  refuseRepeatedTags(reader, traffic);
  const sum = entries.reduce((total: number, entry) => total + wishedPercent(entry), 0);
  if (sum !== 100) reader.fault(`Traffic targets sum to ${sum}, want 100`, "spec.traffic");
  return traffic;
}

function readEntry(reader: FieldReader, entry: YamlMap, path: string): TrafficEntry {
  const revision = readTarget(reader, entry, path);
  const limits = { key: "percent", min: 0, max: 100, fallback: 0 };
  const percent = reader.integer(entry, `${path}.percent`, limits);
  const tag = reader.text(entry, "tag", `${path}.tag`);
  if (tag !== "" && !isLabel(tag)) {
    reader.fault(`not a DNS 1035 label: ${tag}`, `${path}.tag`, LABEL_DETAILS);
  }
  return { revision: revision === "" ? null : revision, percent, tag };
}

/** Empty: the latest ready revision. */
function readTarget(reader: FieldReader, entry: YamlMap, path: string): string {
  const revision = reader.text(entry, "revisionName", `${path}.revisionName`);
  const fault = latestFault(entry["latestRevision"] ?? null, revision);
  if (fault !== "") reader.fault(fault, `${path}.latestRevision`);
  for (const key of ["configurationName", "url"]) {
    if ((entry[key] ?? null) === null) continue;
    reader.fault("must not set the field(s)", `${path}.${key}`);
  }
  return revision;
}

function latestFault(latest: unknown, revision: string): string {
  if (latest === null) return "";
  if (typeof latest !== "boolean") return "invalid value, must be true or false";
  if (latest !== (revision !== "")) return "";
  return `may not set revisionName "${revision}" when latestRevision is ${latest}`;
}

function refuseRepeatedTags(reader: FieldReader, traffic: readonly TrafficEntry[]): void {
  const places = new Map<string, string[]>();
  traffic.forEach(({ tag }, index) => {
    if (tag === "") return;
    places.set(tag, [...(places.get(tag) ?? []), `spec.traffic[${index}].tag`]);
  });
  for (const [tag, paths] of places) {
    if (paths.length > 1) reader.fault(`Multiple definitions for "${tag}"`, paths.join(", "));
  }
}

/** What counts in the sum, as it stands there: a number out of bounds is named by its own fault. */
function wishedPercent(entry: unknown): number {
  const percent = isMap(entry) ? entry["percent"] : undefined;
  return typeof percent === "number" ? percent : 0;
}
