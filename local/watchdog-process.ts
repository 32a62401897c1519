/**
 * The watchdog: a small process that outlives the platform by a moment. It reads lines `+PGID` and
 * `-PGID` from standard input; at its end (the platform is gone, however it died) it kills every
 * group that is left and clears the run folder away. `node watchdog-process.ts RUN_FOLDER PLATFORM_PID`.
 */
import { createInterface } from "node:readline";
import { signalGroup } from "./process-groups.ts";
import { removeRunFolder } from "./run-folder.ts";

const groups = new Set<number>();

// A terminal's Ctrl-C or a kill of "all node processes by name" must not end it before its work.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const groupId = Number(line.slice(1));
  if (line.startsWith("+")) groups.add(groupId);
  else groups.delete(groupId);
});
lines.on("close", () => {
  for (const groupId of groups) signalGroup(groupId, "SIGKILL");
  void clearAway();
});

async function clearAway(): Promise<void> {
  const [, , folder = "", platformPid = ""] = process.argv;
  if (folder !== "") await removeRunFolder(folder, Number(platformPid));
  process.exit(0);
}
