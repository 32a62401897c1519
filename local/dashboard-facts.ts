/** The local platform in the words of the dashboard. Pure, so that the wiring stays a list. */
import { PRICE_FACTORS } from "../common/compute-tier.ts";
import type { Autoscaler } from "../autoscaler/controller.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { ActivatorInfo, ScalerInfo, ServiceInfo } from "../dashboard/facts.ts";
import type { Activators } from "./activators.ts";
import type { ServiceBook } from "./object-files.ts";
import type { ServiceSummary } from "./platform-types.ts";
import { settingsOf } from "./settings-check.ts";

export function serviceFacts(
  summaries: readonly ServiceSummary[],
  book: ServiceBook,
): readonly ServiceInfo[] {
  return summaries.map(({ namespace, name, url, revisions }) => ({
    namespace,
    name,
    url,
    takesRuns: revisions.some(({ active, settings }) => active && settings.async === "enabled"),
    // Those that are only kept for a roll back would fill the page.
    revisions: revisions
      .filter(({ active }) => active)
      .map((revision) => {
        const { key, percent, containerConcurrency, problem } = revision;
        const plan = book.podPlan(key);
        // The plan's template has the live keys laid over it already.
        const settings = plan === undefined ? undefined : settingsOf({}, plan.template);
        return {
          key,
          name: revision.name,
          percent,
          containerConcurrency,
          minScale: settings?.minScale ?? 0,
          maxScale: settings?.maxScale ?? 0,
          priceFactor: PRICE_FACTORS[settings?.computeTier ?? "interruptible"],
          problem,
        };
      }),
  }));
}

export function scalerFacts(autoscaler: Autoscaler, key: RevisionKey): ScalerInfo | undefined {
  const scaling = autoscaler.view().revisions.find((revision) => revision.key === key);
  if (scaling === undefined) return undefined;
  const learnt = autoscaler.learner?.knowledgeOf(key);
  return {
    ...(learnt === undefined ? {} : { learnt }),
    desiredScale: Math.max(0, scaling.desiredScale),
    decisions: autoscaler.decisions(key).map((record) => ({
      at: record.at,
      from: record.from,
      to: record.to,
      reason: record.reason,
    })),
  };
}

export function activatorFacts(activators: Activators): readonly ActivatorInfo[] {
  return activators
    .states()
    .map(({ id, record }) =>
      record === null
        ? { id, url: "", state: "down" as const, reason: "it died and is being started again" }
        : { id, url: record.url, state: "ready" as const, reason: "", pid: record.pid },
    );
}
