/** `pilotlight version` */
import { readVersion } from "../../local/defaults.ts";
import { EXIT } from "../command.ts";
import type { Command } from "../command.ts";

export const version: Command = {
  name: "version",
  summary: "print the version of Pilotlight and of Node",
  usage: "",
  options: {},
  details: "Prints the version of Pilotlight and of the Node that runs it.",
  examples: ["pilotlight version"],
  run: ({ out, options }) => {
    const facts = { pilotlight: readVersion(), node: process.versions.node };
    if (options.flag("json")) out.print(JSON.stringify(facts));
    else out.print(`pilotlight ${facts.pilotlight} (node ${facts.node})`);
    return Promise.resolve(EXIT.ok);
  },
};
