/** Other versions of the function library, made from the real sources by a change of a few words. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LUA_FOLDER, loadScripts } from "../../store/load-scripts.ts";
import type { ScriptLibrary } from "../../store/load-scripts.ts";

/** Replaced in one file of `lua/`. */
export interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export function libraryWith(changes: readonly Change[]): ScriptLibrary {
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-version-"));
  try {
    cpSync(LUA_FOLDER, folder, { recursive: true });
    for (const { file, from, to } of changes) {
      const path = join(folder, file);
      const text = readFileSync(path, "utf8");
      if (!text.includes(from)) throw new Error(`${file} does not hold "${from}"`);
      writeFileSync(path, text.replace(from, to));
    }
    return loadScripts(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Another release with the same layout. */
export function nextRelease(): ScriptLibrary {
  return libraryWith([
    { file: "include/record-wait.lua", from: "local function", to: "-- Next.\nlocal function" },
  ]);
}

/** A release that writes its numbers the other way round, so that the old one would misread them. */
export function nextLayout(): ScriptLibrary {
  const file = "include/numbers.lua";
  return libraryWith([
    { file, from: "local LAYOUT = 2", to: "local LAYOUT = 3" },
    { file, from: "local RUN_FIELD = 'run2'", to: "local RUN_FIELD = 'run3'" },
    { file, from: "local RUN_FORMAT = '>d", to: "local RUN_FORMAT = '<d" },
    {
      file: "include/layout.lua",
      from: "local TARGET_FORMAT = '>",
      to: "local TARGET_FORMAT = '<",
    },
  ]);
}
