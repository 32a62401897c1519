/**
 * The watchdog: a small process that outlives the platform by a moment. It reads lines from standard
 * input, `+PGID` and `-PGID` for process groups, `+ENGINE NAME` and `-ENGINE NAME` for containers,
 * whose processes belong to an engine and not to a group of ours. At its end (the platform is gone, however it died) it kills every
 * group that is left, and what left its group (pod-leftovers.ts), and clears the run folder away. `node watchdog-process.ts RUN_FOLDER PLATFORM_PID`.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { descendantsOf, killSeen } from "./descendants.ts";
import { killMarked, runMark } from "./pod-leftovers.ts";
import { signalGroup } from "./process-groups.ts";
import { removeRunFolder } from "./run-folder.ts";

const watched = new Set<string>();

// A terminal's Ctrl-C or a kill of "all node processes by name" must not end it before its work.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const what = line.slice(1);
  if (line.startsWith("+")) watched.add(what);
  else watched.delete(what);
});
lines.on("close", () => {
  for (const what of watched) end(what);
  void clearAway();
});

function end(what: string): void {
  const [engine = "", name] = what.split(" ");
  if (name === undefined) {
    const family = descendantsOf(Number(what));
    signalGroup(Number(what), "SIGKILL");
    killSeen(family);
  } else spawn(engine, ["rm", "--force", name], { detached: true, stdio: "ignore" }).unref();
}

async function clearAway(): Promise<void> {
  const [, , folder = "", platformPid = ""] = process.argv;
  if (folder !== "") killMarked(`${runMark(folder, Number(platformPid))}.`);
  if (folder !== "") await removeRunFolder(folder, Number(platformPid));
  process.exit(0);
}
