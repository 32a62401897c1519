#!/usr/bin/env node
/**
 * The `pilotlight` command in a checkout: sets up what is missing, then runs cli/main.ts. The
 * bootstrap runs in this process and hands signals on to the command, so that a SIGTERM here is as
 * good as one there.
 */
process.argv.splice(2, 0, "cli");
await import("./bootstrap.mjs");
