/** From the paths of a command line to service files: what a folder stands for. */
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PlatformError } from "../common/errors.ts";

/** Editors keep drafts under names that begin with a dot. */
export const YAML_NAME = /^[^.].*\.ya?ml$/;

export interface NamedPaths {
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

/** Files, and folders whose YAML files count, those to come included. */
export async function sortPaths(paths: readonly string[]): Promise<NamedPaths> {
  const files: string[] = [];
  const folders: string[] = [];
  for (const path of paths.map((given) => resolve(given))) {
    if (await isFolder(path)) folders.push(...(await foldersIn(path)));
    else files.push(path);
  }
  return { files, folders };
}

/** All files that the paths stand for now, in a steady order. */
export async function expandPaths(paths: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of paths.map((given) => resolve(given))) {
    if ((await stat(path).catch(() => null)) === null) {
      throw new PlatformError("ERR_USAGE", `There is no file ${path}. Check the path.`);
    }
    const { files, folders } = await sortPaths([path]);
    found.push(...files);
    for (const folder of folders) found.push(...(await yamlIn(folder)));
  }
  return [...new Set(found)];
}

/**
 * A folder stands for the YAML files directly in it; one that has none, such as `examples`, for
 * those of the folders directly in it.
 */
async function foldersIn(folder: string): Promise<readonly string[]> {
  if ((await yamlIn(folder)).length > 0) return [folder];
  const inner: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith(".")) continue;
    const path = join(folder, entry.name);
    if ((await yamlIn(path)).length > 0) inner.push(path);
  }
  return inner.length > 0 ? inner.toSorted() : [folder];
}

async function yamlIn(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => YAML_NAME.test(name));
  return names.toSorted().map((name) => join(folder, name));
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}
