/**
 * What descends from a process, to be ended with it: also children that left its group and emptied
 * their environment, by which no signal and no mark (pod-leftovers.ts) finds them. Their parent is
 * all that tells, so they are looked up while it still lives.
 */
import { readdirSync, readFileSync } from "node:fs";
import { birthOf } from "./process-groups.ts";

export interface SeenProcess {
  readonly pid: number;
  /** Of which no later process with its id has the same. */
  readonly birth: string;
}

/** None where the system has no /proc. */
export function descendantsOf(root: number): readonly SeenProcess[] {
  if (root <= 1) return [];
  const children = childrenByParent();
  const found: number[] = [];
  const open = [root];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    const own = children.get(pid) ?? [];
    found.push(...own);
    open.push(...own);
  }
  return found.map((pid) => ({ pid, birth: birthOf(pid) }));
}

/** Only the processes that were seen: an id may belong to another one by now. */
export function killSeen(seen: readonly SeenProcess[]): void {
  for (const { pid, birth } of seen) {
    if (birth === "" || birthOf(pid) !== birth) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
}

function childrenByParent(): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  for (const pid of processIds()) {
    const parent = parentOf(pid);
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [pid]);
    else siblings.push(pid);
  }
  return children;
}

function processIds(): readonly number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** 0 for a process that is gone. */
function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The fourth field; the second, the name, may hold blanks and brackets of its own.
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return 0;
  }
}
