/** `pilotlight ls`: the services of a running platform. */
import type { ServiceSummary } from "../../local/platform-types.ts";
import { EXIT, RUN_FOLDER_OPTION } from "../command.ts";
import type { Command } from "../command.ts";
import { findPlatform, readStatus } from "../run-client.ts";
import { formatColumns } from "../table.ts";

export const ls: Command = {
  name: "ls",
  summary: "list services with their pods and URLs",
  usage: "[--run-folder FOLDER]",
  options: RUN_FOLDER_OPTION,
  details: "Lists the services of the running platform: pods ready and wanted, state, URL.",
  examples: ["pilotlight ls", "pilotlight ls --json"],
  run: async (context) => {
    const { services } = await readStatus(await findPlatform(context));
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

/** `1/2`: pods ready of pods wanted. */
export function podsText(service: Pick<ServiceSummary, "revisions">): string {
  const pods = service.revisions.flatMap((revision) => revision.pods);
  const ready = pods.filter((pod) => pod.phase === "ready").length;
  const wanted = service.revisions.reduce(
    (sum, revision) => sum + Math.max(0, revision.desiredScale),
    0,
  );
  return `${ready}/${wanted}`;
}

export function serviceState(service: Pick<ServiceSummary, "revisions">): string {
  const pods = service.revisions.flatMap((revision) => revision.pods);
  const has = (phase: string): boolean => pods.some((pod) => pod.phase === phase);
  if (has("ready")) return "serving";
  if (service.revisions.some(({ problem }) => problem !== "")) return "failing";
  if (has("starting") || has("pending")) return "starting";
  if (has("unready")) return "not ready";
  return has("terminating") ? "draining" : "at zero";
}
