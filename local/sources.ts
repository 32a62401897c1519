/**
 * Where the services of a running platform come from: files that are loaded, watched, added later
 * by `apply`, and taken away by `delete`. The order of all changes is the loader's.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import { PlatformError } from "../common/errors.ts";
import { watchFiles } from "./file-watch.ts";
import type { FileWatch } from "./file-watch.ts";
import type { Loader, LoadResult } from "./loader.ts";
import { expandPaths, sortPaths } from "./paths.ts";

export interface DeleteRequest {
  /** Services by key, and files or folders whose services all go. */
  readonly services: readonly RevisionKey[];
  readonly paths: readonly string[];
}

export class ServiceSources {
  readonly #loader: Loader;
  readonly #watches: FileWatch[] = [];
  readonly #watched = new Set<string>();
  /** What was taken away: a change of the file does not bring it back, only `apply` does. */
  readonly #forgotten = new Set<string>();

  /** Told when the list of files changed. */
  readonly onFiles = new Set<() => void>();

  constructor(loader: Loader) {
    this.#loader = loader;
  }

  get files(): readonly string[] {
    return this.#loader.files;
  }

  /** Loads files and folders, from now on also at each of their changes. */
  async apply(paths: readonly string[]): Promise<LoadResult> {
    const files = await expandPaths(paths);
    for (const file of files) this.#forgotten.delete(file);
    const result = await this.#loader.apply(files);
    await this.#watch(paths);
    this.#tell();
    return result;
  }

  /** Answers the services that were removed. */
  async remove({ services, paths }: DeleteRequest): Promise<readonly RevisionKey[]> {
    const files = await expandPaths(paths);
    const known = new Set(this.files);
    const strange = files.find((file) => !known.has(file));
    if (strange !== undefined) {
      const cure = "Name a service instead; `pilotlight describe SERVICE` shows its file.";
      throw new PlatformError("ERR_USAGE", `No service came from ${strange}. ${cure}`);
    }
    for (const file of files) this.#forgotten.add(file);
    const removed = await this.#loader.remove(services, files);
    this.#tell();
    return removed;
  }

  #tell(): void {
    for (const listener of this.onFiles) listener();
  }

  close(): void {
    for (const watch of this.#watches) watch.close();
  }

  async #watch(paths: readonly string[]): Promise<void> {
    const { files, folders } = await sortPaths(paths);
    const isNew = (path: string): boolean => !this.#watched.has(path);
    const added = { files: files.filter(isNew), folders: folders.filter(isNew) };
    if (added.files.length + added.folders.length === 0) return;
    for (const path of [...added.files, ...added.folders]) this.#watched.add(path);
    this.#watches.push(
      watchFiles(added, (changed) => {
        void this.#loader.load(changed.filter((file) => !this.#forgotten.has(file)));
      }),
    );
  }
}
