/** `pilotlight describe SERVICE`: everything about one service. */
import type { ServiceSummary } from "../../local/platform-types.ts";
import { PlatformError } from "../../common/errors.ts";
import { EXIT, RUN_FOLDER_OPTION } from "../command.ts";
import type { Command } from "../command.ts";
import { findPlatform, findService, readStatus } from "../run-client.ts";
import { formatColumns, formatDuration } from "../table.ts";
import { podsText, serviceState } from "./ls.ts";

export const describe: Command = {
  name: "describe",
  summary: "show one service: revisions, traffic, pods, problems",
  usage: "SERVICE [--run-folder FOLDER]",
  options: RUN_FOLDER_OPTION,
  details: "Shows revisions with their share of traffic, the command behind them, and each pod.",
  examples: ["pilotlight describe echo", "pilotlight describe echo --json"],
  run: async (context) => {
    const [name] = context.positionals;
    if (name === undefined) throw new PlatformError("ERR_USAGE", "Name a service.");
    const status = await readStatus(await findPlatform(context));
    const service = findService(status, name);
    const asJson = context.options.flag("json");
    context.out.print(asJson ? JSON.stringify(service, null, 2) : page(service, Date.now()));
    return EXIT.ok;
  },
};

function page(service: ServiceSummary, now: number): string {
  const head = formatColumns([
    ["Service:", service.key],
    ["URL:", service.url],
    ["State:", `${serviceState(service)} (${podsText(service)} pods ready)`],
    ["File:", service.file],
  ]);
  const revisions = service.revisions.toReversed().map((revision) => {
    const slots = revision.containerConcurrency;
    const facts = formatColumns([
      ["  Traffic:", `${revision.percent} %`],
      ["  Command:", revision.command],
      ["  Slots per pod:", slots === 0 ? "no limit" : String(slots)],
      ["  Pods wanted:", String(Math.max(0, revision.desiredScale))],
    ]);
    const problem = revision.problem === "" ? [] : [indented(`Problem: ${revision.problem}`)];
    return [`\nRevision ${revision.name}`, facts, ...problem, podTable(revision, now)].join("\n");
  });
  return [head, ...revisions].join("\n").trimEnd();
}

function podTable(revision: ServiceSummary["revisions"][number], now: number): string {
  if (revision.pods.length === 0) return "";
  const rows = revision.pods.map((pod) => [
    `  ${pod.name}`,
    pod.phase,
    formatDuration(now - pod.createdAt),
    String(pod.restarts),
    pod.address,
    String(pod.userPort),
  ]);
  return formatColumns([["  POD", "PHASE", "AGE", "RESTARTS", "ADDRESS", "PORT"], ...rows]);
}

function indented(text: string): string {
  return `  ${text.replaceAll("\n", "\n    ")}`;
}
