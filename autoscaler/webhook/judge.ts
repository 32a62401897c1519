/**
 * What the webhook says of a Service, Configuration or Revision of our class: every fault with its
 * field, warnings, and the default of `containerConcurrency`. Pure.
 */
import { PILOTLIGHT_PREFIX, SCALER_CLASS } from "../../common/contracts/annotations.ts";
import { namesGpu } from "../../common/contracts/resources.ts";
import type { ClusterDefaults } from "../core/settings/defaults.ts";
import { readSettings } from "../core/settings/settings.ts";
import type { SettingsResult } from "../core/settings/types.ts";
import { affinityOf, KEEP_IN_PLACE } from "./compute-tier.ts";
import type { Affinity } from "./compute-tier.ts";
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
  readonly affinity?: Affinity | null;
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

const TIER_ANNOTATION = `${PILOTLIGHT_PREFIX}compute-tier`;

const NO_TIER_LABEL =
  `${TIER_ANNOTATION}: protected pods may stand on nodes that are taken back, since ` +
  "config-defaults has no pilotlight.dev/tier-label";

const NOTHING: Judgement = { errors: [], warnings: [] };

export function judge(
  object: JudgedObject,
  before: JudgedObject | null,
  rules: ClusterRules,
): Judgement {
  if (!isJudged(object, rules)) return NOTHING;
  // What was let in once must stay movable: labels, finalizers, and above all its deletion.
  if (before !== null && mattersOf(before) === mattersOf(object)) return NOTHING;
  const { errors, warnings, settings } = settingsOf(object, rules);
  const isUnknown = settings.computeTier === "protected" && rules.defaults.tierLabel === null;
  return { errors, warnings: isUnknown ? [...warnings, NO_TIER_LABEL] : warnings };
}

/** Steps that lay the defaults of our class, and what its tier means, over a template. */
export function defaultsPatch(object: JudgedObject, rules: ClusterRules): readonly PatchStep[] {
  const template = object.spec?.template;
  const spec = template?.spec ?? undefined;
  if (spec === undefined || !isJudged(object, rules)) return [];
  const annotations = template?.metadata?.annotations ?? {};
  return [...concurrencySteps(object, spec, rules), ...tierSteps(annotations, spec, rules)];
}

function concurrencySteps(
  object: JudgedObject,
  { containerConcurrency }: TemplateSpec,
  rules: ClusterRules,
): readonly PatchStep[] {
  if (containerConcurrency !== undefined && containerConcurrency !== null) return [];
  const value = settingsOf(object, rules).settings.containerConcurrency;
  return [{ op: "add", path: "/spec/template/spec/containerConcurrency", value }];
}

/** Only where the owner names a tier: another service's template stays as it was written. */
function tierSteps(
  annotations: Readonly<Record<string, string>>,
  spec: TemplateSpec,
  { defaults }: ClusterRules,
): readonly PatchStep[] {
  const tier = annotations[TIER_ANNOTATION];
  if (tier !== "protected" && tier !== "interruptible") return [];
  const missing = tier === "protected" ? KEEP_IN_PLACE : {};
  const steps = Object.entries(missing)
    .filter(([name]) => annotations[name] === undefined)
    .map(([name, value]): PatchStep => {
      const path = `/spec/template/metadata/annotations/${name.replaceAll("/", "~1")}`;
      return { op: "add", path, value };
    });
  const before = spec.affinity ?? {};
  const value = affinityOf(before, tier, defaults.tierLabel);
  if (value !== before) steps.push({ op: "add", path: "/spec/template/spec/affinity", value });
  return steps;
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
