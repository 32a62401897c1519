/**
 * The rig's long-running programs. They outlive the command that starts them, write to a log file
 * each, and are known by a pid file that also holds the start time, so that a number which the
 * kernel gave to somebody else is never mistaken for one of ours.
 */
import { spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { LOGS, RUN } from "./layout.ts";
import { enter } from "./network.ts";
import { pause } from "./waiting.ts";

const PIDS = join(RUN, "pid");

export interface Daemon {
  /** Unique in the rig, for example `kubelet-node-a`. */
  readonly name: string;
  /** Part of the network that it lives in; none: this machine's own. */
  readonly network?: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Running {
  readonly name: string;
  readonly pid: number;
}

interface PidFile {
  readonly pid: number;
  readonly startedAt: string;
}

export const logOf = (name: string): string => join(LOGS, `${name}.log`);

/** Starts one program and returns its process id. */
export function startDaemon(daemon: Daemon): number {
  mkdirSync(LOGS, { recursive: true });
  mkdirSync(PIDS, { recursive: true });
  const prefix = daemon.network === undefined ? [] : enter(daemon.network);
  const [program = "", ...args] = [...prefix, daemon.program, ...daemon.args];
  const log = openSync(logOf(daemon.name), "a");
  const child = spawn(program, args, {
    detached: true,
    stdio: ["ignore", log, log],
    env: { ...process.env, ...daemon.env },
  });
  closeSync(log);
  if (child.pid === undefined) throw new Error(`${daemon.program} cannot be started`);
  child.on("error", () => {});
  child.unref();
  const entry: PidFile = { pid: child.pid, startedAt: startTimeOf(child.pid) ?? "" };
  writeFileSync(pidFile(daemon.name), JSON.stringify(entry));
  return child.pid;
}

export function isRunning(name: string): boolean {
  return pidOf(name) !== undefined;
}

/** The process id of a daemon that runs now. */
export function pidOf(name: string): number | undefined {
  if (!existsSync(pidFile(name))) return undefined;
  const { pid, startedAt } = JSON.parse(readFileSync(pidFile(name), "utf8")) as PidFile;
  const now = startTimeOf(pid);
  return now !== undefined && now === startedAt ? pid : undefined;
}

export function daemonNames(): readonly string[] {
  if (!existsSync(PIDS)) return [];
  return readdirSync(PIDS).sort();
}

/** Asks the named programs to end, waits, then makes them; forgets them. */
export async function stopDaemons(names: readonly string[], graceMs = 5_000): Promise<void> {
  const pids = names.flatMap((name) => pidOf(name) ?? []);
  await endProcesses(pids, graceMs);
  for (const name of names) rmSync(pidFile(name), { force: true });
}

/** Ends processes that belong to the rig: politely, then for good. */
export async function endProcesses(pids: readonly number[], graceMs = 5_000): Promise<void> {
  for (const pid of pids) signal(pid, "SIGTERM");
  const deadline = performance.now() + graceMs;
  let left = pids.filter(isAlive);
  while (left.length > 0 && performance.now() < deadline) {
    await pause(20);
    left = left.filter(isAlive);
  }
  for (const pid of left) signal(pid, "SIGKILL");
  while (left.length > 0 && performance.now() < deadline + 5_000) {
    await pause(20);
    left = left.filter(isAlive);
  }
}

/** The last lines of a daemon's log, for the message about what went wrong. */
export function logTail(name: string, count = 12): string {
  if (!existsSync(logOf(name))) return "(no log)";
  return readFileSync(logOf(name), "utf8").trim().split("\n").slice(-count).join("\n  ");
}

const pidFile = (name: string): string => join(PIDS, name);

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already.
  }
}

/** Whether a process still runs; a zombie that its parent has not collected does not. */
export function isAlive(pid: number): boolean {
  return startTimeOf(pid) !== undefined;
}

/** The kernel's start time of a process, which together with its number names it for good. */
export function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
