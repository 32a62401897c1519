/** The command line as processes: started, read, and waited for. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
/** What `npx pilotlight` runs. */
export const BIN = fileURLToPath(new URL("../../scripts/pilotlight.mjs", import.meta.url));

export interface CliResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface CliRun {
  readonly child: ChildProcess;
  readonly text: () => CliResult;
  readonly done: Promise<CliResult>;
}

export interface CliPlace {
  /** Default: the command line's own main file. */
  readonly script?: string;
  readonly env?: NodeJS.ProcessEnv;
}

export function startCli(
  cwd: string,
  args: readonly string[],
  { script = MAIN, env = process.env }: CliPlace = {},
): CliRun {
  const child = spawn(process.execPath, [script, ...args], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const text = (): CliResult => ({ code: child.exitCode, out, err });
  const done = new Promise<CliResult>((resolve) => child.once("close", () => resolve(text())));
  return { child, text, done };
}
