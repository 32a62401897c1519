/** Bundles the queue-proxy into one file when its sources changed; it starts faster that way. */
import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const SOURCES = [
  "queue-proxy",
  "proxy",
  "common",
  "foundation",
  "scripts/sidecar",
  "scripts/build-sidecar.ts",
  "scripts/bundle.ts",
];

/** Returns the environment that names the bundle; without it the sources run, only slower. */
export function ensureSidecar(root, node) {
  const folder = join(root, ".cache/queue-proxy");
  const file = join(folder, "main.cjs");
  const stampFile = `${file}.stamp`;
  const stamp = digest(root);
  const fresh =
    existsSync(file) && existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp;
  if (!fresh) {
    mkdirSync(folder, { recursive: true });
    const built = spawnSync(node, [join(root, "scripts/build-sidecar.ts"), folder], {
      encoding: "utf8",
    });
    if (built.status !== 0) {
      console.error(
        `The queue-proxy runs from its sources, since its bundle could not be built: ${built.stderr}`,
      );
      return {};
    }
    writeFileSync(stampFile, stamp);
  }
  return { PILOTLIGHT_SIDECAR: file };
}

function digest(root) {
  const hash = createHash("sha256");
  for (const source of SOURCES) {
    for (const file of filesOf(join(root, source))) hash.update(file).update(readFileSync(file));
  }
  return hash.digest("hex");
}

function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true }).filter((name) => name.endsWith(".ts"));
  return names.toSorted((one, other) => (one < other ? -1 : 1)).map((name) => join(path, name));
}
