/**
 * Tells when one of some files changed. Watches the folders, since editors replace files, and
 * waits until a burst of events is over.
 */
import { watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { dirname, join } from "node:path";
import { YAML_NAME } from "./paths.ts";

/** Editors write in several steps; a reading in between would show half a file. */
const SETTLE_MS = 60;

export interface FileWatch {
  close(): void;
}

/** `paths` are files, or folders whose YAML files count, those to come included. */
export function watchFiles(
  paths: { readonly files: readonly string[]; readonly folders: readonly string[] },
  onChange: (changed: readonly string[]) => void,
): FileWatch {
  const files = new Set(paths.files);
  const whole = new Set(paths.folders);
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const settle = (): void => {
    const list = [...changed];
    changed.clear();
    onChange(list);
  };
  const note = (file: string): void => {
    changed.add(file);
    clearTimeout(timer);
    timer = setTimeout(settle, SETTLE_MS);
  };
  const folders = new Set([...paths.files.map((file) => dirname(file)), ...whole]);
  const watchers: FSWatcher[] = [...folders].map((folder) => {
    const watcher = watch(folder, (_event, name) => {
      if (name === null) return;
      const file = join(folder, name);
      if (files.has(file) || (whole.has(folder) && YAML_NAME.test(name))) note(file);
    });
    // A folder that vanishes takes its files with it.
    watcher.on("error", () => [...files].filter((file) => dirname(file) === folder).forEach(note));
    return watcher;
  });
  return {
    close: () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}
