/**
 * What a container leaves behind in a session of its own (`setsid`), where no signal to its group
 * finds it. Each life of a container has a mark in its environment, which its children inherit; at
 * the end of the life every process that still bears it is killed, as an engine would. A child that
 * empties its environment is found by its parent (descendants.ts), unless that ended before or crashed
 * with the child in a session of its own; nothing short of a container engine holds that one.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { birthOf } from "./process-groups.ts";

/** Name of the variable with the mark. */
export const POD_MARK = "PILOTLIGHT_POD_MARK";
/** A process may start another while it is being killed. */
const MOST_ROUNDS = 5;
const MARK_LENGTH = 16;

/** Begins the marks of all pods of one run. */
export function runMark(runFolder: string, platformPid: number): string {
  const name = `${runFolder}\n${platformPid}`;
  return createHash("sha256").update(name).digest("hex").slice(0, MARK_LENGTH);
}

/** Kills every process whose mark begins so. Returns how many there were. */
export function killMarked(prefix: string): number {
  // Less than the mark of a run would mean the pods of others.
  if (prefix.length < MARK_LENGTH) throw new RangeError(`"${prefix}" is no mark of ours`);
  let killed = 0;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const found = marked(prefix);
    if (found.length === 0) break;
    killed += found.length;
    for (const pid of found) kill(pid, prefix);
  }
  return killed;
}

/** Processes with the mark; none where the system does not show environments. */
function marked(prefix: string): readonly number[] {
  const wanted = `\n${POD_MARK}=${prefix}`;
  return processIds().filter((pid) => pid !== process.pid && environmentOf(pid).includes(wanted));
}

function processIds(): readonly number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Empty for processes of others, for those that are gone, and for zombies. */
function environmentOf(pid: number): string {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}`.replaceAll("\0", "\n");
  } catch {
    return "";
  }
}

/** Only the process that was seen: its id may belong to another one by now. */
function kill(pid: number, prefix: string): void {
  const birth = birthOf(pid);
  if (!environmentOf(pid).includes(`\n${POD_MARK}=${prefix}`) || birthOf(pid) !== birth) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}
