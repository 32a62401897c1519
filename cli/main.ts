/**
 * The command line: finds the command, parses its arguments, prints errors with cause and cure.
 * Results go to standard output, messages to standard error.
 */
import { enableCompileCache } from "node:module";
import { parseArgs } from "node:util";
import { errorText, PlatformError } from "../common/errors.ts";
import { COMPILE_CACHE } from "../local/defaults.ts";
import { EXIT, ParsedOptions, parserOptions } from "./command.ts";
import type { Command, CommandContext, ExitCode, Output } from "./command.ts";
import { apply } from "./commands/apply.ts";
import { cells } from "./commands/cells.ts";
import { createCompletion } from "./commands/completion.ts";
import { dashboard } from "./commands/dashboard.ts";
import { deleteCommand } from "./commands/delete.ts";
import { demo } from "./commands/demo.ts";
import { describe } from "./commands/describe.ts";
import { explain } from "./commands/explain.ts";
import { doctor } from "./commands/doctor.ts";
import { createHelp } from "./commands/help.ts";
import { invoke } from "./commands/invoke.ts";
import { logs } from "./commands/logs.ts";
import { ls } from "./commands/ls.ts";
import { plan } from "./commands/plan.ts";
import { runs } from "./commands/runs.ts";
import { simulate } from "./commands/simulate.ts";
import { top } from "./commands/top.ts";
import { up } from "./commands/up.ts";
import { version } from "./commands/version.ts";
import { commandPage, overviewPage } from "./help-page.ts";
import { NotFoundError } from "./run-client.ts";

const PLAIN: readonly Command[] = [
  demo,
  up,
  apply,
  deleteCommand,
  ls,
  top,
  invoke,
  runs,
  logs,
  describe,
  explain,
  simulate,
  plan,
  doctor,
  dashboard,
  cells,
  createCompletion(() => COMMANDS),
  version,
];
export const COMMANDS: readonly Command[] = [...PLAIN, createHelp(PLAIN)];

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface CliOptions {
  readonly args: readonly string[];
  readonly out: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export async function runCli({ args, out, env }: CliOptions): Promise<ExitCode> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h") {
    out.print(overviewPage(COMMANDS));
    return name === undefined ? EXIT.usage : EXIT.ok;
  }
  const wanted = name === "--version" ? "version" : name;
  const command = COMMANDS.find((candidate) => candidate.name === wanted);
  if (command === undefined) {
    out.note(`There is no command ${name}. \`pilotlight help\` lists them.`);
    return EXIT.usage;
  }
  try {
    const context = parse(command, rest, { out, env });
    if (!context.options.flag("help")) return await command.run(context);
    out.print(commandPage(command));
    return EXIT.ok;
  } catch (error) {
    out.note(`pilotlight ${command.name}: ${errorText(error)}`);
    return exitCodeOf(error);
  }
}

function parse(
  command: Command,
  args: readonly string[],
  rest: Pick<CommandContext, "out" | "env">,
): CommandContext {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: parserOptions(command),
      allowPositionals: true,
    });
    const extra = positionals[command.mostArguments ?? 0];
    if (extra !== undefined) throw new TypeError(`It has no use for "${extra}"`);
    return { ...rest, positionals, options: new ParsedOptions(values), onSignal };
  } catch (error) {
    const cure = `\`pilotlight help ${command.name}\` shows what it takes.`;
    // Node goes on to explain positional arguments; the cure here is shorter.
    const fault = errorText(error).replace(/\. To specify a positional argument.*/s, "");
    throw new PlatformError("ERR_USAGE", `${fault}. ${cure}`, { cause: error });
  }
}

function onSignal(listener: (signal: string) => void): () => void {
  for (const signal of SIGNALS) process.on(signal, listener);
  return () => {
    for (const signal of SIGNALS) process.off(signal, listener);
  };
}

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof NotFoundError) return EXIT.notFound;
  if (!(error instanceof PlatformError)) return EXIT.failure;
  if (error.code === "ERR_USAGE") return EXIT.usage;
  // An API server that gave no answer at all is as good as none.
  const isAway = error.code === "ERR_API_UNAVAILABLE" && error.details["status"] === 0;
  return isAway || error.code === "ERR_NOT_RUNNING" ? EXIT.notRunning : EXIT.failure;
}

if (import.meta.main) {
  // A reader that closed the pipe (`| head`) is no error.
  process.stdout.on("error", () => process.exit(EXIT.ok));
  // What commands load from here on comes from the cache: less than half the time for `up`.
  enableCompileCache(COMPILE_CACHE);
  process.exitCode = await runCli({
    args: process.argv.slice(2),
    env: process.env,
    out: {
      print: (text) => void process.stdout.write(`${text}\n`),
      note: (text) => void process.stderr.write(`${text}\n`),
      write: (chunk) => void process.stdout.write(chunk),
    },
  });
}
