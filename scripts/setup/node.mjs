/** Finds a Node that runs the sources: the packaged Node 24, else the running one if it is new enough. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Node 24 strips types, has `reusePort`, and is what CI tests. */
const WANTED_MAJOR = 24;

export function ensureNode(root) {
  const packaged = join(root, "node_modules/node/bin/node");
  if (majorOf(packaged) >= WANTED_MAJOR) return packaged;

  // Some npm configurations skip install scripts; the package's own script puts the binary in place.
  const installer = join(root, "node_modules/node/installArchSpecificPackage.js");
  if (existsSync(installer)) {
    console.error(`Installing Node ${WANTED_MAJOR} for this project ...`);
    spawnSync(process.execPath, [installer], {
      cwd: join(root, "node_modules/node"),
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (majorOf(packaged) >= WANTED_MAJOR) return packaged;
  }
  if (majorOf(process.execPath) >= WANTED_MAJOR) return process.execPath;
  throw new Error(
    `Pilotlight needs Node ${WANTED_MAJOR} or newer; this is ${process.version}, and the npm package "node" did not ` +
      `bring one for ${process.platform}-${process.arch}. Install Node ${WANTED_MAJOR} and try again.`,
  );
}

function majorOf(binary) {
  if (!existsSync(binary)) return 0;
  const result = spawnSync(binary, ["--version"], { encoding: "utf8" });
  return Number(/^v(\d+)\./.exec(result.stdout ?? "")?.[1] ?? 0);
}
