/** Processes under test: pinned to one core, with their on-CPU time and their memory. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";

export interface Measured {
  readonly pid: number;
  /** From `spawn` to the first accepted connection, in ms. */
  readonly listenMs: number;
  cpuMs(): number;
  rssKib(): number;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly host: string;
  readonly port: number;
  /** Core to which it is pinned. */
  readonly core: number;
}

/** Where everything runs that is not measured. */
export const LOAD_CORE = 1;
const START_MS = 20_000;
const hasTaskset = spawnSync("taskset", ["-p", String(process.pid)]).status === 0;

/** Ahead of whatever else runs here; only where that is allowed. */
const NICE = ["nice", "-n", "-10"];
const mayBeNice =
  spawnSync("nice", ["-n", "-10", "nice"], { encoding: "utf8" }).stdout.trim() === "-10";

/** Command and arguments on one core, where the machine can do that. */
export function pinned(core: number, command: string, args: readonly string[]): [string, string[]] {
  const words = [
    ...(mayBeNice ? NICE : []),
    ...(hasTaskset ? ["taskset", "-c", String(core)] : []),
    command,
    ...args,
  ];
  return [words[0] ?? command, words.slice(1)];
}

/** For a process that somebody else started: the same core and precedence as if we had. */
export function pinTo(core: number, pid: number): void {
  if (mayBeNice) spawnSync("renice", ["-n", "-10", "-p", String(pid)]);
  if (hasTaskset) spawnSync("taskset", ["-a", "-p", "-c", String(core), String(pid)]);
}

export async function startMeasured(options: StartOptions): Promise<Measured> {
  const [command, args] = pinned(options.core, options.command, options.args);
  const startedAt = performance.now();
  // taskset becomes the program, so the child's id is the program's.
  const child = spawn(command, args, {
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (log = (log + text).slice(-4_000)));
  await untilListening(options, child, () => log);
  const { pid = 0 } = child;
  return {
    pid,
    listenMs: performance.now() - startedAt,
    cpuMs: () => cpuMsOf(pid),
    rssKib: () => rssKibOf(pid),
    stop: () => stopChild(child),
  };
}

async function untilListening(
  { host, port, command }: StartOptions,
  child: ChildProcess,
  log: () => string,
): Promise<void> {
  for (const endsAt = performance.now() + START_MS; performance.now() < endsAt;) {
    if (child.exitCode !== null) break;
    if (await isListening(host, port)) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await stopChild(child);
  throw new Error(`${command} does not listen at ${host}:${port}: ${log()}`);
}

function isListening(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** Time on a CPU, summed over all threads; moves far less with noise than latency does. */
function cpuMsOf(pid: number): number {
  let ns = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]);
  }
  return ns / 1e6;
}

function rssKibOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN);
}
