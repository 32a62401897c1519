/** Help pages, made from what each command says of itself. */
import { COMMON_OPTIONS } from "./command.ts";
import type { Command, OptionHelp } from "./command.ts";
import { formatColumns } from "./table.ts";

export function overviewPage(commands: readonly Command[]): string {
  return [
    "pilotlight: serverless, scale-to-zero GPUs on Knative; here on one machine.",
    "",
    "Usage: pilotlight COMMAND [ARGUMENTS]",
    "",
    formatColumns(commands.map(({ name, summary }) => [`  ${name}`, summary])),
    "",
    "Start with:",
    "  pilotlight up examples/echo/service.yaml",
    "  pilotlight invoke echo -d hello --timings     (in a second terminal)",
    "",
    "`pilotlight help COMMAND` shows options, examples and exit codes. In a clone of the repository",
    "the command is `npx pilotlight`.",
  ].join("\n");
}

export function commandPage(command: Command): string {
  const options = Object.entries({ ...COMMON_OPTIONS, ...command.options });
  return [
    `Usage: pilotlight ${command.name} ${command.usage}`.trimEnd(),
    "",
    command.details,
    "",
    "Options:",
    formatColumns(options.map(([name, option]) => [`  ${optionWords(name, option)}`, option.help])),
    "",
    "Examples:",
    ...command.examples.map((example) => `  ${example}`),
    "",
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no platform runs, 4 no such service or pod,",
    "            5 the service answered with a status of 400 or more.",
  ].join("\n");
}

function optionWords(name: string, option: OptionHelp): string {
  const short = option.short === undefined ? "    " : `-${option.short}, `;
  const value = option.value === undefined ? "" : ` ${option.value}`;
  return `${short}--${name}${value}`;
}
