/**
 * Deadlines in scaling. A pod that is asked for now serves after a start, so a waiting request must
 * count while a start still fits before its objective, however young it is.
 */
import type { RevisionSettings } from "./settings/types.ts";

/**
 * Settings with the delay after which a waiting request counts, shortened where the objective less a
 * start (median in ms, 0 while unknown) is sooner. It is never lengthened: that is for people to say.
 */
export function withDeadlines(settings: RevisionSettings, startTimeMs: number): RevisionSettings {
  const { sloMs, scaleUpDelayMs } = settings;
  if (sloMs === null || startTimeMs <= 0) return settings;
  const spareMs = Math.max(0, sloMs - startTimeMs);
  return spareMs < scaleUpDelayMs ? { ...settings, scaleUpDelayMs: spareMs } : settings;
}
