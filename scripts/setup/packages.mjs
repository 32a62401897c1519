/** Installs the npm packages when the lock file is newer than what stands in node_modules. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";

export function ensurePackages(root) {
  const stampFile = join(root, "node_modules/.pilotlight-stamp");
  const digest = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === digest) return;

  console.error("Installing npm packages (first run only, about a minute) ...");
  // Engine warnings concern the Node that runs npm; the product runs on the Node 24 that this installs.
  const result = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, npm_config_engine_strict: "false", PATH: pathWithout(root) },
  });
  if (result.error)
    throw new Error(`Cannot run npm: ${result.error.message}. Install npm and try again.`);
  if (result.status !== 0) {
    throw new Error(
      "npm ci failed (see above). Check the connection to the npm registry and try again.",
    );
  }
  writeFileSync(stampFile, digest);
}

/**
 * npm puts this project's own bin folder first, with the packaged Node in it. An installation
 * deletes that folder, so it must run on the machine's Node.
 */
function pathWithout(root) {
  const own = join(root, "node_modules");
  return (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => !folder.startsWith(own))
    .join(delimiter);
}
