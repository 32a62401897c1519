/**
 * The bundled sidecar, and what V8 compiled of it in a life up to a first request, both made at the
 * build. Node's own compile cache holds what is compiled before a file runs; functions that are first
 * called later, a sixth of a start, would be compiled in the middle of a cold start
 * (docs/decisions/0009).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Script } from "node:vm";

export const BUNDLE = "sidecar.js";
export const COMPILED = "sidecar.cache";

/**
 * Ready to run, from what lies in the folder. Code of another version of Node, or of other flags, is
 * refused by V8 (`cachedDataRejected`) and compiled anew; so it is where there is none.
 */
export function compileSidecar(folder: string): Script {
  const filename = join(folder, BUNDLE);
  const cachedData = readIfThere(join(folder, COMPILED));
  return new Script(readFileSync(filename, "utf8"), {
    filename,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
