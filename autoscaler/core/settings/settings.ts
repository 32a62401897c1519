/**
 * Annotations and spec fields of a revision to its settings. All faults are reported together, and
 * the settings are usable all the same: a faulty key has its default.
 */
import type { ClusterDefaults } from "./defaults.ts";
import { readPlacementSettings } from "./placement-settings.ts";
import { Problems } from "./problems.ts";
import { SettingsReader } from "./reader.ts";
import { readContainerConcurrency, readRoutingSettings } from "./routing-settings.ts";
import { readScalingSettings } from "./scaling-settings.ts";
import type { SettingsInput, SettingsResult } from "./types.ts";
import { readUrgencySettings } from "./urgency-settings.ts";
import { warnAboutKeys } from "./warnings.ts";

export function readSettings(input: SettingsInput, defaults: ClusterDefaults): SettingsResult {
  const problems = new Problems();
  const reader = new SettingsReader(input.annotations, input.serviceAnnotations ?? {}, problems);
  const containerConcurrency = readContainerConcurrency(reader, defaults, input);
  const settings = {
    ...readScalingSettings(reader, defaults, containerConcurrency),
    ...readRoutingSettings(reader, defaults, input, containerConcurrency),
    ...readUrgencySettings(reader, containerConcurrency),
    ...readPlacementSettings(reader, defaults, input),
  };
  warnAboutKeys(input, problems);
  return {
    settings,
    errors: problems.errors,
    warnings: problems.warnings,
  };
}
