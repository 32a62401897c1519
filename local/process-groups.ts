/** Signals to whole process groups: each child leads one, so its own children end with it. */

/** True while a process with this id exists (a zombie counts until it is reaped). */
export function isAlive(pid: number): boolean {
  return Number.isInteger(pid) && pid > 0 && signalled(pid, 0);
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
