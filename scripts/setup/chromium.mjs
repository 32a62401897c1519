/**
 * The browser for `npm run test:browser`: the one that is named or on the PATH, else Debian's
 * package where that can be installed. Its path goes to the test in PILOTLIGHT_CHROMIUM.
 */
import { spawnSync } from "node:child_process";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** @returns {{ PILOTLIGHT_CHROMIUM: string }} */
export function ensureChromium() {
  const found = process.env.PILOTLIGHT_CHROMIUM ?? onPath();
  if (found !== undefined) return { PILOTLIGHT_CHROMIUM: found };
  if (process.getuid?.() === 0 && spawnSync("apt-get", ["--version"]).status === 0) {
    console.error("── Installing chromium (Debian's package)");
    const options = {
      stdio: "inherit",
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    };
    spawnSync("apt-get", ["update", "-q"], options);
    spawnSync("apt-get", ["install", "-y", "-q", "--no-install-recommends", "chromium"], options);
  }
  const installed = onPath();
  if (installed !== undefined) return { PILOTLIGHT_CHROMIUM: installed };
  throw new Error(
    "No Chromium. Install it (Debian: apt-get install chromium), or set PILOTLIGHT_CHROMIUM to its path.",
  );
}

/** @returns {string | undefined} */
function onPath() {
  return NAMES.find((name) => spawnSync(name, ["--version"]).status === 0);
}
