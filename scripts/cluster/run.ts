/** Runs other programs to their end; a failure carries what they said, since that is what helps. */
import { spawn } from "node:child_process";
import type { SpawnOptions } from "node:child_process";

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Called with each line of standard error and output while it runs. */
  readonly onLine?: (line: string) => void;
  readonly timeoutMs?: number;
  /** Runs the program only when the machine has nothing better to do. */
  readonly nice?: boolean;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The children that run now, so that a Ctrl-C can end them. */
const running = new Set<number>();

/** Runs a program and answers how it ended, whatever that is. */
export function attempt(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(...commandLine(program, args, options));
    if (child.pid !== undefined) running.add(child.pid);
    const said = { stdout: "", stderr: "" };
    const listen = (name: "stdout" | "stderr") => (text: string) => {
      said[name] += text;
      for (const line of text.split("\n")) {
        if (line.trim() !== "") options.onLine?.(line.trim());
      }
    };
    child.stdout?.setEncoding("utf8").on("data", listen("stdout"));
    child.stderr?.setEncoding("utf8").on("data", listen("stderr"));
    child.stdin?.on("error", () => {});
    child.stdin?.end(options.input ?? "");
    child.once("error", (error) => {
      reject(new Error(`${program} cannot run: ${error.message}`));
    });
    child.once("close", (code, signal) => {
      if (child.pid !== undefined) running.delete(child.pid);
      resolve({ code: code ?? (signal === null ? 1 : 128), ...said });
    });
  });
}

/** Runs a program that has to succeed and returns its standard output. */
export async function run(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await attempt(program, args, options);
  if (code === 0) return stdout;
  const words = (stderr.trim() === "" ? stdout : stderr).trim().split("\n").slice(-20).join("\n  ");
  throw new Error(`${[program, ...args].join(" ").slice(0, 300)} failed (${code}):\n  ${words}`);
}

/** Ends what still runs when this process has to leave. */
export function endRunning(): void {
  for (const pid of running) {
    try {
      process.kill(pid, "SIGTERM");
    } catch {
      // Gone already.
    }
  }
}

function commandLine(
  program: string,
  args: readonly string[],
  options: RunOptions,
): [string, string[], SpawnOptions] {
  const settings: SpawnOptions = {
    stdio: ["pipe", "pipe", "pipe"],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: { ...process.env, ...options.env } }),
    ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
  };
  if (options.nice === true) return ["nice", ["-n", "5", program, ...args], settings];
  return [program, [...args], settings];
}
