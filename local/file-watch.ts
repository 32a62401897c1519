/**
 * Tells when one of some files changed. Watches the folders, since editors replace files, and
 * waits until a burst of events is over.
 */
import { watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { basename, dirname } from "node:path";

/** Editors write in several steps; a reading in between would show half a file. */
const SETTLE_MS = 60;

export interface FileWatch {
  close(): void;
}

export function watchFiles(
  files: readonly string[],
  onChange: (changed: readonly string[]) => void,
): FileWatch {
  const byFolder = Map.groupBy(files, (file) => dirname(file));
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
  const watchers: FSWatcher[] = [];
  for (const [folder, members] of byFolder) {
    const names = new Map(members.map((file) => [basename(file), file]));
    const watcher = watch(folder, (_event, name) => {
      const file = name === null ? undefined : names.get(name);
      if (file !== undefined) note(file);
    });
    // A folder that vanishes takes its files with it.
    watcher.on("error", () => members.forEach(note));
    watchers.push(watcher);
  }
  return {
    close: () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}
