/**
 * Runs the bundled queue-proxy of a folder and leaves what V8 compiled of it beside it at the end.
 * Started by `warm-sidecar.ts`, with the flags that the sidecar runs with: the code holds for those.
 */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMPILED, compileSidecar } from "../../queue-proxy/compiled.ts";

const [folder = ""] = process.argv.slice(2);
const script = compileSidecar(folder);

process.on("exit", () => {
  const file = join(folder, COMPILED);
  writeFileSync(`${file}.new`, script.createCachedData());
  renameSync(`${file}.new`, file);
});
script.runInThisContext();
