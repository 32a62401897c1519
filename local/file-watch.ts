/**
 * Tells when one of some files changed. Watches the folders, since editors replace files, and
 * waits until a burst of events is over. Looks by itself as well: a notice never comes for the
 * target of a link, for a folder that was made anew, and on a system that has no watches left.
 */
import { readdirSync, statSync, watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { dirname, join } from "node:path";
import { YAML_NAME } from "./paths.ts";

/** Editors write in several steps; a reading in between would show half a file. */
const SETTLE_MS = 60;
const LOOK_EVERY_MS = 1_000;

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
  const stamps = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;

  const settle = (): void => {
    const list = [...changed];
    changed.clear();
    // Before they are read: what is written from here on is another change.
    for (const file of list) stamps.set(file, stampOf(file));
    onChange(list);
  };
  const note = (file: string): void => {
    changed.add(file);
    clearTimeout(timer);
    timer = setTimeout(settle, SETTLE_MS);
  };
  const candidates = (): Set<string> =>
    new Set([...files, ...stamps.keys(), ...[...whole].flatMap(filesIn)]);
  const look = (): void => {
    for (const file of candidates()) if (stampOf(file) !== (stamps.get(file) ?? "")) note(file);
  };
  for (const file of candidates()) stamps.set(file, stampOf(file));
  const lookTimer = setInterval(look, LOOK_EVERY_MS);
  const folders = new Set([...paths.files.map((file) => dirname(file)), ...whole]);
  const watchers = [...folders].flatMap((folder) =>
    watchFolder(folder, (name) => {
      const file = join(folder, name);
      if (files.has(file) || (whole.has(folder) && YAML_NAME.test(name))) note(file);
    }),
  );
  return {
    close: () => {
      clearTimeout(timer);
      clearInterval(lookTimer);
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** None where the system has no watches left, or the folder is gone. */
function watchFolder(folder: string, onName: (name: string) => void): readonly FSWatcher[] {
  try {
    const watcher = watch(folder, (_event, name) => {
      if (name !== null) onName(name);
    });
    watcher.on("error", () => watcher.close());
    return [watcher];
  } catch {
    return [];
  }
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => YAML_NAME.test(name))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** Differs after each change of the file, or of what it is a link to; empty where there is none. */
function stampOf(file: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(file);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return "";
  }
}
