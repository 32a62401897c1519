/** `pilotlight describe SERVICE`: everything about one service. */
import { PlatformError } from "../../common/errors.ts";
import { EXIT, RUN_FOLDER_OPTION } from "../command.ts";
import type { Command } from "../command.ts";
import { readSnapshot } from "../control-client.ts";
import { describePage } from "../describe-page.ts";
import { findPlatform, findService, readStatus } from "../run-client.ts";

export const describe: Command = {
  name: "describe",
  summary: "show one service: conditions, traffic, revisions, settings, pods, decisions",
  usage: "SERVICE [--run-folder FOLDER]",
  mostArguments: 1,
  options: RUN_FOLDER_OPTION,
  details:
    "Shows conditions and traffic of a service, and of each revision the command behind it, its\n" +
    "settings, its pods as the router sees them, and the last decisions about their number.\n" +
    "Revisions that are only kept for a roll back are named in one line.",
  examples: ["pilotlight describe echo", "pilotlight describe echo --json"],
  run: async (context) => {
    const [name] = context.positionals;
    if (name === undefined) throw new PlatformError("ERR_USAGE", "Name a service.");
    const platform = await findPlatform(context);
    const service = findService(await readStatus(platform), name);
    const { services } = await readSnapshot(platform);
    const figures = services.find(
      (one) => one.name === service.name && one.namespace === service.namespace,
    );
    const revisions = service.revisions.map((revision) => {
      const seen = figures?.revisions.find(({ key }) => key === revision.key);
      const { load = null, targets = [], decisions = [], coldStarts = [] } = seen ?? {};
      return { ...revision, load, targets, decisions, coldStarts };
    });
    const facts = { ...service, revisions };
    const asJson = context.options.flag("json");
    context.out.print(asJson ? JSON.stringify(facts, null, 2) : describePage(facts, Date.now()));
    return EXIT.ok;
  },
};
