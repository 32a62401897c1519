/** `pilotlight describe SERVICE`: everything about one service. */
import { PlatformError } from "../../common/errors.ts";
import { PLACE_OPTIONS } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command } from "../command.ts";
import { describePage } from "../describe-page.ts";
import type { DescribedService } from "../describe-page.ts";
import { withPlatform } from "../platform-view.ts";
import type { PlatformView } from "../platform-view.ts";
import { findService } from "../run-client.ts";

export const describe: Command = {
  name: "describe",
  summary: "show one service: conditions, traffic, revisions, settings, pods, decisions",
  usage: "SERVICE [--cluster | --run-folder FOLDER]",
  mostArguments: 1,
  options: PLACE_OPTIONS,
  details:
    "Shows conditions and traffic of a service, and of each revision the command behind it, its\n" +
    "settings, its pods as the router sees them, and the last decisions about their number.\n" +
    "Revisions that are only kept for a roll back are named in one line.",
  examples: ["pilotlight describe echo", "pilotlight describe echo --json"],
  run: async (context) => {
    const [name] = context.positionals;
    if (name === undefined) throw new PlatformError("ERR_USAGE", "Name a service.");
    const facts = await withPlatform(context, (view) => describedService(view, name));
    const asJson = context.options.flag("json");
    context.out.print(asJson ? JSON.stringify(facts, null, 2) : describePage(facts, Date.now()));
    return EXIT.ok;
  },
};

async function describedService(view: PlatformView, name: string): Promise<DescribedService> {
  const service = findService({ services: await view.services() }, name);
  const { services, activators } = await view.snapshot();
  const figures = services.find(
    (one) => one.name === service.name && one.namespace === service.namespace,
  );
  const revisions = service.revisions.map((revision) => {
    const seen = figures?.revisions.find(({ key }) => key === revision.key);
    const { load = null, targets = [], decisions = [], coldStarts = [] } = seen ?? {};
    const wanted = seen?.activatorsWanted;
    const part = wanted === undefined ? {} : { activatorsWanted: wanted };
    return { ...revision, load, targets, decisions, coldStarts, ...part };
  });
  const up = activators.filter(({ state }) => state !== "down");
  return { ...service, revisions, activators: up.length };
}
