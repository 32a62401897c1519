/** `pilotlight help [COMMAND]` */
import { PlatformError } from "../../common/errors.ts";
import { EXIT } from "../command.ts";
import type { Command } from "../command.ts";
import { commandPage, overviewPage } from "../help-page.ts";

export function createHelp(others: readonly Command[]): Command {
  const help: Command = {
    name: "help",
    summary: "show the commands, or how one of them is used",
    usage: "[COMMAND]",
    mostArguments: 1,
    options: {},
    details: "Lists the commands, or shows options and examples of one.",
    examples: ["pilotlight help", "pilotlight help invoke"],
    run: ({ positionals: [name], out, options }) => {
      const all = [...others, help];
      if (options.flag("json")) {
        // Functions have no JSON: what is left is the words.
        out.print(JSON.stringify(all));
        return Promise.resolve(EXIT.ok);
      }
      const command = all.find((candidate) => candidate.name === name);
      if (name !== undefined && command === undefined) {
        throw new PlatformError("ERR_USAGE", `There is no command ${name}.`);
      }
      out.print(command === undefined ? overviewPage(all) : commandPage(command));
      return Promise.resolve(EXIT.ok);
    },
  };
  return help;
}
