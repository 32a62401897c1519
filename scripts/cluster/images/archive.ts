/**
 * Images written straight into one archive that container runtimes and build tools import. For
 * images that are put together from what lies here anyway no build tool is needed, and a dozen of
 * them take seconds.
 */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  createReadStream,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { run } from "../run.ts";

export interface ImageSource {
  readonly name: string;
  /** Folders that become a layer each, or tar files that are one already; lowest first. */
  readonly layers: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
}

const EPOCH = "1970-01-01T00:00:00Z";
/** The same input gives the same bytes. */
const TAR = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];

/** Writes all images into one archive file; a layer that several share is stored once. */
export async function writeArchive(images: readonly ImageSource[], file: string): Promise<void> {
  const folder = `${file}.half`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const sums = new Map<string, string>();
  const manifest: object[] = [];
  for (const image of images) {
    const layers: string[] = [];
    for (const source of image.layers) {
      const sum = sums.get(source) ?? (await addLayer(folder, source));
      sums.set(source, sum);
      layers.push(sum);
    }
    const config = JSON.stringify(imageConfig(image, layers));
    const name = `${createHash("sha256").update(config).digest("hex")}.json`;
    writeFileSync(join(folder, name), config);
    const files = layers.map((sum) => `${sum}.tar`);
    manifest.push({ Config: name, RepoTags: [image.name], Layers: files });
  }
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  await run("tar", [...TAR, "-C", folder, "-cf", `${file}.new`, "."]);
  renameSync(`${file}.new`, file);
  rmSync(folder, { recursive: true });
}

function imageConfig({ config }: ImageSource, layers: readonly string[]): object {
  return {
    architecture: "amd64",
    os: "linux",
    created: EPOCH,
    config,
    rootfs: { type: "layers", diff_ids: layers.map((sum) => `sha256:${sum}`) },
    history: layers.map(() => ({ created: EPOCH })),
  };
}

/** Puts a layer into the archive's folder and returns its sum, which is also its name. */
async function addLayer(folder: string, source: string): Promise<string> {
  const half = join(folder, "half.tar");
  if (statSync(source).isFile()) copyFileSync(source, half);
  else await run("tar", [...TAR, "-C", source, "-cf", half, "."]);
  const sum = await sumOf(half);
  renameSync(half, join(folder, `${sum}.tar`));
  return sum;
}

async function sumOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
