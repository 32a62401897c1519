/** `pilotlight ls`: the services of a running platform. */
import { PLACE_OPTIONS } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command } from "../command.ts";
import { withPlatform } from "../platform-view.ts";
import type { SeenRevision } from "../platform-view.ts";
import { formatColumns } from "../table.ts";

export const ls: Command = {
  name: "ls",
  summary: "list services with their pods and URLs",
  usage: "[--cluster | --run-folder FOLDER]",
  options: PLACE_OPTIONS,
  details:
    "Lists the services of the running platform, or of a cluster: pods ready and wanted, state, URL.",
  examples: ["pilotlight ls", "pilotlight ls --json", "pilotlight ls --context staging"],
  run: async (context) => {
    const services = await withPlatform(context, (view) => view.services());
    if (context.options.flag("json")) {
      context.out.print(JSON.stringify(services, null, 2));
    } else if (services.length === 0) {
      context.out.note("No services. Add some with: pilotlight apply FILE");
    } else {
      const rows = services.map((service) => [
        service.namespace === "default" ? service.name : service.key,
        podsText(service),
        serviceState(service),
        service.url,
      ]);
      context.out.print(formatColumns([["SERVICE", "READY", "STATE", "URL"], ...rows]));
    }
    return EXIT.ok;
  },
};

interface PodsOfService {
  readonly revisions: readonly (Pick<SeenRevision, "desiredScale" | "problem"> & {
    readonly pods: readonly Pick<SeenRevision["pods"][number], "phase">[];
  })[];
}

/** `1/2`: pods ready of pods wanted. */
export function podsText(service: PodsOfService): string {
  const pods = service.revisions.flatMap((revision) => revision.pods);
  const ready = pods.filter((pod) => pod.phase === "ready").length;
  const wanted = service.revisions.reduce(
    (sum, revision) => sum + Math.max(0, revision.desiredScale),
    0,
  );
  return `${ready}/${wanted}`;
}

export function serviceState(service: PodsOfService): string {
  const pods = service.revisions.flatMap((revision) => revision.pods);
  const has = (phase: string): boolean => pods.some((pod) => pod.phase === phase);
  if (has("ready")) return "serving";
  if (service.revisions.some(({ problem }) => problem !== "")) return "failing";
  if (has("starting") || has("pending")) return "starting";
  if (has("unready")) return "not ready";
  return has("terminating") ? "draining" : "at zero";
}
