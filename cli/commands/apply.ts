/** `pilotlight apply FILE...`: services into a platform that runs. */
import { resolve } from "node:path";
import { PlatformError } from "../../common/errors.ts";
import type { AppliedService, AppliedServices } from "../../local/platform-types.ts";
import { PLACE_OPTIONS, wantsCluster } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext } from "../command.ts";
import { callControl } from "../control-client.ts";
import { findPlatform } from "../run-client.ts";

export const apply: Command = {
  name: "apply",
  summary: "add the services of some files to a running platform, or change them",
  usage: "FILE... [--cluster | --run-folder FOLDER]",
  mostArguments: Infinity,
  options: PLACE_OPTIONS,
  details:
    "Reads files (or folders of files) where they lie, applies their services, and follows their\n" +
    "changes from then on. A faulty service keeps its last good version, and its faults are listed.\n" +
    "With --cluster they are applied there, once, as kubectl apply --server-side would.",
  examples: ["pilotlight apply service.yaml", "pilotlight apply services/ --json"],
  run: async (context) => {
    const { positionals, out, options } = context;
    if (positionals.length === 0) {
      throw new PlatformError("ERR_USAGE", "Name at least one service file, e.g. service.yaml.");
    }
    const applied = await applyWhereAsked(context);
    if (options.flag("json")) out.print(JSON.stringify(applied, null, 2));
    else for (const service of applied.services) out.print(lineOf(service));
    for (const warning of applied.warnings) out.note(`warning: ${warning}`);
    for (const error of applied.errors) out.note(`error: ${error}`);
    if (applied.errors.length > 0) return EXIT.failure;
    if (applied.services.length > 0) return EXIT.ok;
    out.note("No service was found. A folder stands for the YAML files directly in it.");
    return EXIT.failure;
  },
};

async function applyWhereAsked(context: CommandContext): Promise<AppliedServices> {
  const paths = context.positionals.map((path) => resolve(path));
  if (wantsCluster(context)) {
    const { applyToCluster } = await import("../cluster/cluster-apply.ts");
    return applyToCluster(context, paths);
  }
  return callControl<AppliedServices>(await findPlatform(context), "/apply", { paths });
}

function lineOf({ key, change, revision }: AppliedService): string {
  // In a cluster the new revision is made by others, a moment later.
  const made = change === "unchanged" || revision === "" ? "" : ` (revision ${revision})`;
  return `service ${key} ${change}${made}`;
}
