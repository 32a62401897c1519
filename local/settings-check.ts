/** The platform's own reading of annotations, with the defaults that local mode stands for. */
import { OWN_KEYS, PILOTLIGHT_PREFIX, SCALER_CLASS } from "../common/contracts/annotations.ts";
import { PLATFORM_DEFAULTS } from "../autoscaler/core/settings/defaults.ts";
import type { ClusterDefaults } from "../autoscaler/core/settings/defaults.ts";
import { readSettings } from "../autoscaler/core/settings/settings.ts";
import type { RevisionSettings, SettingsResult } from "../autoscaler/core/settings/types.ts";
import type { TemplateSpec } from "./service-types.ts";

const CLASS_KEY = "autoscaling.knative.dev/class";

/** As a cluster that our installer has set up. */
export const LOCAL_DEFAULTS: ClusterDefaults = PLATFORM_DEFAULTS;

export function checkSettings(
  serviceAnnotations: Readonly<Record<string, string>>,
  template: TemplateSpec,
): Pick<SettingsResult, "errors" | "warnings"> {
  const { errors, warnings } = read(serviceAnnotations, template);
  const own: string[] = [];
  const named = template.annotations[CLASS_KEY] ?? SCALER_CLASS;
  if (named !== SCALER_CLASS) {
    own.push(`class ${named} is served by ${SCALER_CLASS} in local mode: ${CLASS_KEY}`);
  }
  return { errors, warnings: [...warnings, ...own] };
}

export function settingsOf(
  serviceAnnotations: Readonly<Record<string, string>>,
  template: TemplateSpec,
): RevisionSettings {
  return read(serviceAnnotations, template).settings;
}

function read(
  serviceAnnotations: Readonly<Record<string, string>>,
  template: TemplateSpec,
): SettingsResult {
  return readSettings(
    {
      annotations: template.annotations,
      serviceAnnotations,
      containerConcurrency: template.containerConcurrency,
      timeoutSeconds: template.timeoutSeconds,
      responseStartTimeoutSeconds: template.responseStartTimeoutSeconds,
      idleTimeoutSeconds: template.idleTimeoutSeconds,
      requestsGpu: template.container.wantsGpu,
    },
    LOCAL_DEFAULTS,
  );
}

/** Annotations of a revision with the Service's live keys laid over them. */
export function withLiveKeys(
  serviceAnnotations: Readonly<Record<string, string>>,
  template: TemplateSpec,
): Readonly<Record<string, string>> {
  const live = Object.entries(serviceAnnotations).filter(([key]) => isLive(key));
  return { ...template.annotations, ...Object.fromEntries(live) };
}

function isLive(key: string): boolean {
  if (!key.startsWith(PILOTLIGHT_PREFIX)) return false;
  const name = key.slice(PILOTLIGHT_PREFIX.length);
  return Object.entries(OWN_KEYS).some(([own, where]) => own === name && where === "live");
}
