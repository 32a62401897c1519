/** One rig at a time: a lock file with the owner's process, which ends with it. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startTimeOf } from "./daemons.ts";
import { PREFIX } from "./layout.ts";

/** Outside the rig's own folder, which a sweep removes. */
const FILE = join("/run", `${PREFIX}.lock`);

interface Owner {
  readonly pid: number;
  readonly startedAt: string;
  readonly command: string;
}

/** Takes the lock or says who has it. Returns what gives it back. */
export function takeLock(command: string): () => void {
  const owner: Owner = {
    pid: process.pid,
    startedAt: startTimeOf(process.pid) ?? "",
    command,
  };
  mkdirSync("/run", { recursive: true });
  for (;;) {
    try {
      writeFileSync(FILE, JSON.stringify(owner), { flag: "wx" });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const other = lockOwner();
      if (other !== undefined) {
        throw new Error(
          `The cluster is in use by \`${other.command}\` (process ${other.pid}). There is one per ` +
            `machine: wait for that command, or end it with \`kill ${other.pid}\`.`,
        );
      }
      rmSync(FILE, { force: true });
    }
  }
  return () => {
    if (lockOwner()?.pid === process.pid) rmSync(FILE, { force: true });
  };
}

/** Who holds the lock now; a process that ended holds nothing. */
export function lockOwner(): Owner | undefined {
  if (!existsSync(FILE)) return undefined;
  try {
    const owner = JSON.parse(readFileSync(FILE, "utf8")) as Owner;
    return startTimeOf(owner.pid) === owner.startedAt ? owner : undefined;
  } catch {
    return undefined;
  }
}
