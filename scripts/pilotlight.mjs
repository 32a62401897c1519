#!/usr/bin/env node
/** The `pilotlight` command in a checkout: sets up what is missing, then runs cli/main.ts. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const bootstrap = fileURLToPath(new URL("./bootstrap.mjs", import.meta.url));
// The terminal's Ctrl-C reaches the child directly; this process only waits for its end.
process.on("SIGINT", () => {});
const result = spawnSync(process.execPath, [bootstrap, "cli", ...process.argv.slice(2)], {
  stdio: "inherit",
});
process.exitCode = result.status ?? 1;
