/** Defaults of a local platform, apart so that the command line need not load a platform to know them. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const DEFAULT_PORT = 8080;
export const DEFAULT_RUN_FOLDER = ".pilotlight/run";
/** Longest time that requests in flight get when the platform is asked to stop. */
export const DEFAULT_STOP_GRACE_MS = 10_000;

/** Node keeps the stripped and compiled sources of our own processes here between runs. */
export const COMPILE_CACHE = fileURLToPath(new URL("../.cache/compile", import.meta.url));

export function readVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version?: string };
  return version ?? "unknown";
}
