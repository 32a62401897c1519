/** Which images are ours, and how they come into the nodes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../layout.ts";
import type { Progress } from "../progress.ts";
import { valkeyArchive } from "./base.ts";
import { buildOwnImages } from "./own.ts";
import type { OwnImage } from "./own.ts";
import { importArchive } from "./stock.ts";

const VERSION = (
  JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly version: string }
).version;
export const VALKEY_IMAGE = "docker.io/valkey/valkey:8.0.1";
const EXAMPLES = ["echo"];

export const ownImages: readonly OwnImage[] = [
  ...["activator", "queue-proxy", "autoscaler"].map((target) => ({
    name: `ghcr.io/pilotlight/${target}:${VERSION}`,
    dockerfile: join(ROOT, "Dockerfile"),
    context: ROOT,
    target,
  })),
  ...EXAMPLES.map((example) => ({
    name: `ghcr.io/pilotlight/example-${example}:latest`,
    dockerfile: join(ROOT, "examples/Dockerfile"),
    context: join(ROOT, "examples"),
    args: { EXAMPLE: example },
  })),
];

export async function bringOwnImages(progress: Progress): Promise<void> {
  const own = await buildOwnImages(ownImages, progress);
  await progress.step("Images into the nodes", async () => {
    await importArchive(await valkeyArchive(VALKEY_IMAGE));
    await importArchive(own);
  });
}
