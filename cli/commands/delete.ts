/** `pilotlight delete SERVICE|FILE...`: services out of a platform that runs. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { PlatformError } from "../../common/errors.ts";
import type { StatusRecord } from "../../local/platform-types.ts";
import { PLACE_OPTIONS, wantsCluster } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext } from "../command.ts";
import { callControl } from "../control-client.ts";
import { findPlatform, findService, readStatus } from "../run-client.ts";

export const deleteCommand: Command = {
  name: "delete",
  summary: "remove services from a running platform",
  usage: "SERVICE|FILE... [--cluster | --run-folder FOLDER]",
  mostArguments: Infinity,
  options: PLACE_OPTIONS,
  details:
    "Removes services by name, or all that came from a file. Running requests end in peace. The\n" +
    "file stays as it is; its services come back by `pilotlight apply`, or when the platform is\n" +
    "started anew.",
  examples: ["pilotlight delete echo", "pilotlight delete service.yaml"],
  run: async (context) => {
    const { positionals, out, options } = context;
    if (positionals.length === 0) {
      throw new PlatformError("ERR_USAGE", "Name a service, or a file that services came from.");
    }
    const removed = await deleteWhereAsked(context);
    if (options.flag("json")) out.print(JSON.stringify({ removed }, null, 2));
    else for (const key of removed) out.print(`service ${key} deleted`);
    return EXIT.ok;
  },
};

async function deleteWhereAsked(context: CommandContext): Promise<readonly RevisionKey[]> {
  const { positionals } = context;
  if (wantsCluster(context)) {
    const { deleteFromCluster } = await import("../cluster/cluster-apply.ts");
    return deleteFromCluster(context, positionals);
  }
  const platform = await findPlatform(context);
  const wanted = await sortNames(await readStatus(platform), positionals);
  const answer = await callControl<{ removed: readonly RevisionKey[] }>(
    platform,
    "/delete",
    wanted,
  );
  return answer.removed;
}

/** A name is a service where there is one, else a path where there is something. */
async function sortNames(
  status: StatusRecord,
  names: readonly string[],
): Promise<{ services: readonly RevisionKey[]; paths: readonly string[] }> {
  const services: RevisionKey[] = [];
  const paths: string[] = [];
  for (const name of names) {
    const isService = status.services.some((one) => one.name === name || one.key === name);
    const isPath = !isService && (await stat(name).catch(() => null)) !== null;
    if (isPath) paths.push(resolve(name));
    else services.push(findService(status, name).key);
  }
  return { services, paths };
}
