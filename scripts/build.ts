/**
 * Builds `dist/` for images: `tsc` emits JavaScript, then the files that are found relative to a
 * module (scripts of the store, the dashboard's page) are copied to the same places.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";

const ASSETS = ["lua", "dashboard/page", "manifests"];

const root = join(import.meta.dirname, "..");
rmSync(join(root, "dist"), { recursive: true, force: true });

const compiled = spawnSync(
  process.execPath,
  [join(root, "node_modules/typescript/bin/tsc"), "-p", root],
  {
    stdio: "inherit",
  },
);
if (compiled.status === 0) {
  for (const asset of ASSETS.filter((path) => existsSync(join(root, path)))) {
    cpSync(join(root, asset), join(root, "dist", asset), { recursive: true });
  }
  console.log("Built dist/");
}
process.exitCode = compiled.status ?? 1;
