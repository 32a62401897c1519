/**
 * Bundles what the images run: one file per process under `dist/images`, beside the scripts of the
 * store. One file starts several times faster than many (docs/decisions/0009), and an image with
 * it needs no package folder.
 */
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "./bundle.ts";
import { bundleSidecar } from "./sidecar/bundle-sidecar.ts";

/** File in the image, and where it comes from. */
const ENTRIES: Readonly<Record<string, string>> = {
  "activator/main.mjs": "activator/main.ts",
  "autoscaler/main.mjs": "autoscaler/main.ts",
  "autoscaler/tuner-worker.mjs": "autoscaler/tuner-worker.ts",
  "autoscaler/webhook.mjs": "autoscaler/webhook-main.ts",
  "dashboard/main.mjs": "dashboard/main.ts",
};

const root = join(import.meta.dirname, "..");
const folder = process.argv[2] ?? join(root, "dist/images");

rmSync(folder, { recursive: true, force: true });
for (const [target, source] of Object.entries(ENTRIES)) {
  const input = join(root, source);
  if (!existsSync(input)) continue;
  await bundle({ input, file: join(folder, target), sourcemap: false });
}
await bundleSidecar(join(folder, "queue-proxy"), false);
// Read at the start, from beside the folder of the bundle, as in the sources.
cpSync(join(root, "lua"), join(folder, "lua"), { recursive: true });
cpSync(join(root, "dashboard/page"), join(folder, "dashboard/page"), { recursive: true });
console.log(`Built ${folder}`);
