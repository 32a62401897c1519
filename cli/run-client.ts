/** Finds a running platform by its run folder, and services and pods by their names in it. */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PlatformError } from "../common/errors.ts";
import type { RunRecord } from "../common/contracts/local-run.ts";
import { DEFAULT_RUN_FOLDER } from "../local/defaults.ts";
import type { ServiceSummary, StatusRecord } from "../local/platform-types.ts";
import { isAlive } from "../local/process-groups.ts";
import { RUN_FILES } from "../local/run-folder.ts";
import type { CommandContext } from "./command.ts";

export interface RunningPlatform {
  readonly folder: string;
  readonly run: RunRecord;
}

export function runFolderOf(context: CommandContext): string {
  return resolve(context.options.text("run-folder") ?? DEFAULT_RUN_FOLDER);
}

export async function findPlatform(context: CommandContext): Promise<RunningPlatform> {
  const folder = runFolderOf(context);
  const run = await findRun(folder);
  if (run === null) {
    throw new PlatformError(
      "ERR_NOT_RUNNING",
      `No platform runs in ${folder}. Start one with: pilotlight up FILE (or name its --run-folder).`,
    );
  }
  return { folder, run };
}

/** `null` where none runs. */
export async function findRun(folder: string): Promise<RunRecord | null> {
  const run = await readJson<RunRecord>(join(folder, RUN_FILES.run));
  return run !== null && isAlive(run.pid) ? run : null;
}

export async function readStatus(platform: RunningPlatform): Promise<StatusRecord> {
  const status = await readJson<StatusRecord>(join(platform.folder, RUN_FILES.status));
  return status ?? { at: 0, services: [], activators: [] };
}

/** By `name`, or by `namespace/name` where two namespaces have it. */
export function findService<T extends Pick<ServiceSummary, "key" | "name">>(
  status: { readonly services: readonly T[] },
  name: string,
): T {
  const matches = status.services.filter(
    (service) => service.key === name || (!name.includes("/") && service.name === name),
  );
  const [service, second] = matches;
  if (service === undefined) {
    const known = status.services.map(({ name: other }) => other).join(", ");
    throw new NotFoundError(`There is no service ${name}. Known: ${known || "none"}.`);
  }
  if (second !== undefined) {
    const keys = matches.map(({ key }) => key).join(", ");
    throw new PlatformError("ERR_USAGE", `${name} is ambiguous: name one of ${keys}.`);
  }
  return service;
}

/** Has an exit code of its own. */
export class NotFoundError extends Error {}

/** `null` when the file is missing; both files are replaced whole, so what is there is complete. */
async function readJson<T>(path: string): Promise<T | null> {
  const text = await readFile(path, "utf8").catch(() => null);
  // Written by the platform of the same version: its shape is not checked again.
  return text === null ? null : (JSON.parse(text) as T);
}
