/** Signals to whole process groups: each child leads one, so its own children end with it. */
import { readFileSync } from "node:fs";

/** True while a process with this id exists (a zombie counts until it is reaped). */
export function isAlive(pid: number): boolean {
  return Number.isInteger(pid) && pid > 0 && signalled(pid, 0);
}

/**
 * When a process began, as a text that no later process with its id has; empty where the system
 * does not tell (it has no /proc).
 */
export function birthOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The 22nd field; the second, the name, may hold blanks and brackets of its own.
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}/${ticks}`;
  } catch {
    return "";
  }
}

/** Sends to every process of the group; false when the group is gone. */
export function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  // Guards against 0 and 1: minus them would mean our own group, and every process there is.
  return groupId > 1 && signalled(-groupId, signal);
}

function signalled(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    // EPERM: it exists and belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
