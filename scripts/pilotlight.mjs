#!/usr/bin/env node
/**
 * The `pilotlight` command in a checkout: sets up what is missing, then runs cli/main.ts. The
 * bootstrap runs in this process and hands signals on to the command, so that a SIGTERM here is as
 * good as one there.
 */
import { fileURLToPath } from "node:url";

// Compiled sources are kept between runs: half the time of a short command.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("../.cache/compile", import.meta.url));
process.argv.splice(2, 0, "cli");
await import("./bootstrap.mjs");
