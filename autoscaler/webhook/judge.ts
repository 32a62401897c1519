/**
 * What the webhook says of a Service, Configuration or Revision of our class: every fault with its
 * field, warnings, and the default of `containerConcurrency`. Pure.
 */
import { PILOTLIGHT_PREFIX, SCALER_CLASS } from "../../common/contracts/annotations.ts";
import { namesGpu } from "../../common/contracts/resources.ts";
import type { ClusterDefaults } from "../core/settings/defaults.ts";
import { readSettings } from "../core/settings/settings.ts";
import type { SettingsResult } from "../core/settings/types.ts";
import { CLASS_ANNOTATION } from "../kubernetes/objects.ts";
import type { ContainerSpec } from "../kubernetes/objects.ts";

/** A Service or Configuration; a Revision is its own template. */
export interface JudgedObject {
  readonly kind?: string;
  readonly metadata?: JudgedMeta;
  readonly spec?: TemplateSpec & { readonly template?: Template };
}

interface JudgedMeta {
  readonly annotations?: Readonly<Record<string, string>> | null;
  readonly deletionTimestamp?: string;
}

interface Template {
  readonly metadata?: JudgedMeta | null;
  readonly spec?: TemplateSpec | null;
}

interface TemplateSpec {
  readonly containerConcurrency?: number | null;
  readonly timeoutSeconds?: number | null;
  readonly responseStartTimeoutSeconds?: number | null;
  readonly idleTimeoutSeconds?: number | null;
  readonly containers?: readonly ContainerSpec[] | null;
}

export interface ClusterRules {
  readonly defaults: ClusterDefaults;
  /** Class of a revision that names none. */
  readonly defaultClass: string;
}

export interface Judgement {
  /** In the stock form `message: path`; not empty: the object is refused. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

export interface PatchStep {
  readonly op: "add";
  readonly path: string;
  readonly value: unknown;
}

const NOTHING: Judgement = { errors: [], warnings: [] };

export function judge(
  object: JudgedObject,
  before: JudgedObject | null,
  rules: ClusterRules,
): Judgement {
  if (!isJudged(object, rules)) return NOTHING;
  // What was let in once must stay movable: labels, finalizers, and above all its deletion.
  if (before !== null && mattersOf(before) === mattersOf(object)) return NOTHING;
  const { errors, warnings } = settingsOf(object, rules);
  return { errors, warnings };
}

/** Steps that lay the defaults of our class over an object that leaves them open. */
export function defaultsPatch(object: JudgedObject, rules: ClusterRules): readonly PatchStep[] {
  const template = object.spec?.template;
  const spec = template?.spec ?? undefined;
  if (spec === undefined || !isJudged(object, rules)) return [];
  if (spec.containerConcurrency !== undefined && spec.containerConcurrency !== null) return [];
  const value = settingsOf(object, rules).settings.containerConcurrency;
  return [{ op: "add", path: "/spec/template/spec/containerConcurrency", value }];
}

function isJudged(object: JudgedObject, { defaultClass }: ClusterRules): boolean {
  if (object.metadata?.deletionTimestamp !== undefined) return false;
  const { annotations } = templateOf(object);
  return (annotations[CLASS_ANNOTATION] ?? defaultClass) === SCALER_CLASS;
}

interface Judged {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: TemplateSpec;
}

function templateOf(object: JudgedObject): Judged {
  const template: Template =
    object.spec?.template ??
    (object.kind === "Revision"
      ? { metadata: object.metadata ?? null, spec: object.spec ?? null }
      : {});
  return { annotations: template.metadata?.annotations ?? {}, spec: template.spec ?? {} };
}

function settingsOf(object: JudgedObject, { defaults }: ClusterRules): SettingsResult {
  const { annotations, spec } = templateOf(object);
  const isService = object.kind === "Service";
  const { containerConcurrency, timeoutSeconds } = spec;
  const { responseStartTimeoutSeconds, idleTimeoutSeconds } = spec;
  return readSettings(
    {
      annotations,
      ...(isService ? { serviceAnnotations: object.metadata?.annotations ?? {} } : {}),
      containerConcurrency: containerConcurrency ?? undefined,
      timeoutSeconds: timeoutSeconds ?? undefined,
      responseStartTimeoutSeconds: responseStartTimeoutSeconds ?? undefined,
      idleTimeoutSeconds: idleTimeoutSeconds ?? undefined,
      requestsGpu: requestsGpu(spec.containers ?? []),
    },
    defaults,
  );
}

function requestsGpu(containers: readonly ContainerSpec[]): boolean {
  return containers.some(({ resources }) =>
    namesGpu([...Object.keys(resources?.limits ?? {}), ...Object.keys(resources?.requests ?? {})]),
  );
}

/** All that a judgement depends on, as text. */
function mattersOf(object: JudgedObject): string {
  const { annotations, spec } = templateOf(object);
  const own = Object.entries(object.metadata?.annotations ?? {})
    .filter(([key]) => key.startsWith(PILOTLIGHT_PREFIX))
    .toSorted(([left], [right]) => left.localeCompare(right));
  return JSON.stringify([own, annotations, spec]);
}
