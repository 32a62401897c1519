/** `pilotlight apply FILE...`: services into a platform that runs. */
import { resolve } from "node:path";
import { PlatformError } from "../../common/errors.ts";
import type { AppliedService, AppliedServices } from "../../local/platform-types.ts";
import { EXIT, RUN_FOLDER_OPTION } from "../command.ts";
import type { Command } from "../command.ts";
import { callControl } from "../control-client.ts";
import { findPlatform } from "../run-client.ts";

export const apply: Command = {
  name: "apply",
  summary: "add the services of some files to a running platform, or change them",
  usage: "FILE... [--run-folder FOLDER]",
  mostArguments: Infinity,
  options: RUN_FOLDER_OPTION,
  details:
    "Reads files (or folders of files) where they lie, applies their services, and follows their\n" +
    "changes from then on. A faulty service keeps its last good version, and its faults are listed.",
  examples: ["pilotlight apply service.yaml", "pilotlight apply services/ --json"],
  run: async (context) => {
    const { positionals, out, options } = context;
    if (positionals.length === 0) {
      throw new PlatformError("ERR_USAGE", "Name at least one service file, e.g. service.yaml.");
    }
    const platform = await findPlatform(context);
    const paths = positionals.map((path) => resolve(path));
    const applied = await callControl<AppliedServices>(platform, "/apply", { paths });
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

function lineOf({ key, change, revision }: AppliedService): string {
  return `service ${key} ${change}${change === "unchanged" ? "" : ` (revision ${revision})`}`;
}
