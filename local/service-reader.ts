/**
 * One YAML document to a service definition, with every fault of it. Texts are those of stock
 * Knative where it has one, so that a fault reads the same here and in a cluster.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import { readContainer } from "./container-reader.ts";
import { FieldReader } from "./field-reader.ts";
import type { YamlMap } from "./field-reader.ts";
import type { ServiceDefinition, TemplateSpec } from "./service-types.ts";
import { checkSettings } from "./settings-check.ts";
import { isLabel, LABEL_DETAILS, readTraffic } from "./traffic-reader.ts";

export const SERVICE_API = "serving.knative.dev/v1";

const MAX_TIMEOUT_SECONDS = 43_200;
const DEFAULT_TIMEOUT_SECONDS = 900;
const CPU_CONCURRENCY = 100;

export interface DocumentPlace {
  readonly file: string;
  readonly folder: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
}

export interface DocumentReading {
  readonly key: RevisionKey | null;
  readonly service: ServiceDefinition | null;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

export function readService(document: YamlMap, place: DocumentPlace): DocumentReading {
  const reader = new FieldReader();
  const metadata = reader.map(document, "metadata", "metadata");
  const name = readName(reader, metadata);
  const namespace = reader.text(metadata, "namespace", "metadata.namespace") || "default";
  const annotations = reader.textMap(metadata, "annotations", "metadata.annotations");
  refuseScalingKeys(reader, annotations);
  const spec = reader.map(document, "spec", "spec");
  if (document["spec"] === undefined) reader.missing("spec");
  const template = readTemplate(reader, spec, { place, service: name });
  const traffic = readTraffic(reader, spec);
  const key = name === "" ? null : (`${namespace}/${name}` as const);
  const settings =
    template === null ? { errors: [], warnings: [] } : checkSettings(annotations, template);
  const errors = [...reader.faults, ...settings.errors];
  if (errors.length > 0 || key === null || template === null) {
    return { key, service: null, errors, warnings: settings.warnings };
  }
  const { file, folder } = place;
  const service = { key, namespace, name, file, folder, annotations, template, traffic };
  return { key, service, errors, warnings: settings.warnings };
}

function readName(reader: FieldReader, metadata: YamlMap): string {
  const name = reader.text(metadata, "name", "metadata.name");
  if (name === "") reader.missing("metadata.name");
  else if (!isLabel(name)) {
    reader.fault("not a DNS 1035 label prefix", "metadata.name", LABEL_DETAILS);
  }
  return name;
}

function refuseScalingKeys(
  reader: FieldReader,
  annotations: Readonly<Record<string, string>>,
): void {
  for (const key of Object.keys(annotations)) {
    if (!key.startsWith("autoscaling.knative.dev")) continue;
    reader.fault(
      `invalid key name "${key}"`,
      "metadata.annotations",
      'autoscaling annotations must be put under "spec.template.metadata.annotations" to work',
    );
  }
}

function readTemplate(
  reader: FieldReader,
  spec: YamlMap,
  within: { readonly place: DocumentPlace; readonly service: string },
): TemplateSpec | null {
  const template = reader.map(spec, "template", "spec.template");
  const metadata = reader.map(template, "metadata", "spec.template.metadata");
  const path = "spec.template.metadata.annotations";
  const annotations = reader.textMap(metadata, "annotations", path);
  const pod = reader.map(template, "spec", "spec.template.spec");
  const container = readContainer(reader, pod, within.place.hostEnv);
  if (container === null) return null;
  const integer = (key: string, max: number, fallback: number): number =>
    reader.integer(pod, `spec.template.spec.${key}`, { key, min: 0, max, fallback });
  const timeoutSeconds =
    integer("timeoutSeconds", MAX_TIMEOUT_SECONDS, DEFAULT_TIMEOUT_SECONDS) ||
    DEFAULT_TIMEOUT_SECONDS;
  return {
    name: readRevisionName(reader, metadata, within.service),
    annotations,
    containerConcurrency: integer(
      "containerConcurrency",
      1000,
      container.wantsGpu ? 1 : CPU_CONCURRENCY,
    ),
    timeoutSeconds,
    responseStartTimeoutSeconds: integer("responseStartTimeoutSeconds", timeoutSeconds, 0),
    idleTimeoutSeconds: integer("idleTimeoutSeconds", timeoutSeconds, 0),
    container,
  };
}

/** A name of one's own for the revision, as Knative takes it: it begins with the service's. */
function readRevisionName(reader: FieldReader, metadata: YamlMap, service: string): string {
  const path = "spec.template.metadata.name";
  const name = reader.text(metadata, "name", path);
  if (name === "") return "";
  if (!isLabel(name)) reader.fault("not a DNS 1035 label", path, LABEL_DETAILS);
  else if (!name.startsWith(`${service}-`)) {
    reader.invalid(name, path, `must have "${service}-" as its prefix`);
  }
  return name;
}
