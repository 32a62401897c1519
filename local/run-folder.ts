/**
 * The run folder: everything that a running platform keeps on disk. It is owned by one platform at
 * a time, only its own entries are ever removed, and every file is replaced whole.
 */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, readdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { errorText, PlatformError } from "../common/errors.ts";
import { birthOf, isAlive } from "./process-groups.ts";

/** Marks a folder as ours and names its owner; written first, removed last. */
const OWNER_FILE = ".pilotlight-owner";

export const RUN_FILES = {
  run: "run.json",
  routes: "routes.json",
  status: "status.json",
  secret: "secret",
  pods: "pods",
  podRoots: "roots",
  logs: "logs",
  store: "store",
  cache: "cache",
  control: "control.sock",
} as const;

export interface RunFolder {
  readonly path: string;
  at(...parts: string[]): string;
  writeJson(name: string, value: unknown): Promise<void>;
  /** Removes what the platform put there; anything else stays. */
  remove(): Promise<void>;
}

export async function openRunFolder(path: string): Promise<RunFolder> {
  const root = resolve(path);
  try {
    await mkdir(root, { recursive: true, mode: 0o700 });
    await claim(root);
    for (const folder of [RUN_FILES.pods, RUN_FILES.podRoots, RUN_FILES.logs, RUN_FILES.store]) {
      await mkdir(join(root, folder), { recursive: true, mode: 0o700 });
    }
  } catch (error) {
    throw error instanceof PlatformError ? error : unusable(root, error);
  }
  const at = (...parts: string[]): string => join(root, ...parts);
  return {
    path: root,
    at,
    writeJson: (name, value) => writeWhole(at(name), `${JSON.stringify(value, null, 2)}\n`),
    remove: () => removeRunFolder(root, process.pid),
  };
}

function unusable(root: string, cause: unknown): PlatformError {
  const cure = "Give a folder that can be written with --run-folder.";
  const what = `The run folder ${root} cannot be used: ${errorText(cause)}.`;
  return new PlatformError("ERR_CONFIG_INVALID", `${what} ${cure}`, { cause });
}

/** Two platforms must not share a folder; what a dead one left is cleared away. */
async function claim(root: string): Promise<void> {
  const owner = await readFile(join(root, OWNER_FILE), "utf8").catch(() => null);
  if (owner !== null && isOwned(owner)) throw inUse(root, owner);
  if (owner !== null) {
    await removeEntries(root);
    await rm(join(root, OWNER_FILE), { force: true });
  } else if ((await readdir(root)).length > 0) {
    throw new PlatformError(
      "ERR_CONFIG_INVALID",
      `The run folder ${root} holds other files. Give an empty or new one with --run-folder.`,
    );
  }
  try {
    // Exclusive: of two platforms that start at one moment, one has it.
    const mark = `${process.pid} ${birthOf(process.pid)}\n`;
    await writeFile(join(root, OWNER_FILE), mark, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw inUse(root, await readFile(join(root, OWNER_FILE), "utf8").catch(() => ""));
  }
}

/** Its process lives, and is the one that wrote the mark: ids are used again, after a restart soon. */
function isOwned(mark: string): boolean {
  const [pid = "", birth = ""] = mark.trim().split(" ");
  if (!isAlive(Number(pid))) return false;
  const now = birthOf(Number(pid));
  return birth === "" || now === "" || birth === now;
}

function inUse(root: string, mark: string): PlatformError {
  const cure = `Stop it, or give another folder with --run-folder.`;
  const [pid = "unknown"] = mark.trim().split(" ");
  return new PlatformError(
    "ERR_CONFIG_INVALID",
    `A platform (process ${pid}) already runs in ${root}. ${cure}`,
  );
}

/**
 * Also called by the watchdog, after the platform died. Does nothing to a folder that is not ours,
 * or that a next platform has claimed meanwhile.
 */
export async function removeRunFolder(root: string, ownerPid: number): Promise<void> {
  const owner = await readFile(join(root, OWNER_FILE), "utf8").catch(() => null);
  if (owner === null || Number.parseInt(owner, 10) !== ownerPid) return;
  await removeEntries(root);
  await rm(join(root, OWNER_FILE), { force: true });
  await rmdir(root).catch(() => undefined);
}

async function removeEntries(root: string): Promise<void> {
  for (const entry of Object.values(RUN_FILES)) {
    await rm(join(root, entry), { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Readers see the old file or the new one, never half of one. */
export async function writeWhole(path: string, text: string, mode = 0o600): Promise<void> {
  const draft = `${path}.${randomUUID().slice(0, 8)}.tmp`;
  await writeFile(draft, text, { mode });
  await rename(draft, path);
}
