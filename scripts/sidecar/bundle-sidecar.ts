/** The queue-proxy as its image and local mode run it: a script, and what starts it. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { BUNDLE, COMPILED } from "../../queue-proxy/compiled.ts";
import { bundleScript } from "../bundle.ts";

const SOURCES = join(import.meta.dirname, "../../queue-proxy");

/** Makes `main.cjs`, which is started, and the script beside it; `warmSidecar` adds the compiled code. */
export async function bundleSidecar(folder: string, sourcemap: boolean): Promise<void> {
  // V8 tells a changed script by its length alone.
  rmSync(join(folder, COMPILED), { force: true });
  await bundleScript({ input: join(SOURCES, "main.ts"), file: join(folder, BUNDLE), sourcemap });
  const entry = join(folder, "main.cjs");
  await bundleScript({ input: join(SOURCES, "start.ts"), file: entry, sourcemap: false });
}
