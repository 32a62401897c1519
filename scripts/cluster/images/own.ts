/**
 * Our own images, built from the repository's Dockerfiles as they stand: the file that users build
 * is the file under test.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { CACHE, REGISTRY, ROOT } from "../layout.ts";
import type { Progress } from "../progress.ts";
import { attempt, run } from "../run.ts";
import { baseNames, nodeArchive } from "./base.ts";

export interface OwnImage {
  readonly name: string;
  readonly dockerfile: string;
  readonly context: string;
  readonly target?: string;
  readonly args?: Readonly<Record<string, string>>;
}

const STORE = join(CACHE, "buildah");
const LAYOUT = REGISTRY.folder;
const STORAGE = [
  "--root",
  STORE,
  "--runroot",
  join(CACHE, "buildah-run"),
  "--storage-driver",
  "overlay",
  "--registries-conf",
  "/dev/null",
];
/** Where Linux systems keep the authorities that npm has to trust. */
const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";

/** Builds the images and returns one archive of all, to be imported into nodes. */
export async function buildOwnImages(
  images: readonly OwnImage[],
  progress: Progress,
): Promise<string> {
  mkdirSync(STORE, { recursive: true });
  await ensureBases(images, progress);
  rmSync(LAYOUT, { recursive: true, force: true });
  for (const image of images) {
    await progress.step(`Image ${image.name}`, async () => {
      await build(image, progress);
      await buildah("push", "--disable-compression", image.name, `oci:${LAYOUT}:${image.name}`);
    });
  }
  return packLayout();
}

async function ensureBases(images: readonly OwnImage[], progress: Progress): Promise<void> {
  const names = [...new Set(images.flatMap(({ dockerfile }) => baseNames(dockerfile)))];
  const missing: string[] = [];
  for (const name of names) {
    const { code } = await attempt("buildah", [...STORAGE, "inspect", "--type", "image", name]);
    if (code !== 0) missing.push(name);
  }
  if (missing.length === 0) return;
  await progress.step(`Base image ${missing.join(", ")}`, async () => {
    const archive = await nodeArchive(missing);
    for (const index of missing.keys())
      await buildah("pull", `docker-archive:${archive}:@${index}`);
    rmSync(archive);
  });
}

async function build(image: OwnImage, progress: Progress): Promise<void> {
  const { target, args = {} } = image;
  await buildah(
    "bud",
    "--isolation",
    "chroot",
    "--layers",
    "--pull-never",
    "--network",
    "host",
    "-f",
    image.dockerfile,
    "-t",
    image.name,
    ...(target === undefined ? [] : ["--target", target]),
    ...Object.entries(args).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]),
    ...secrets(),
    image.context,
  );
  progress.detail("built");
}

/** What npm needs on this machine, handed over for the build only. */
function secrets(): readonly string[] {
  const files: Readonly<Record<string, string>> = {
    npmrc: join(homedir(), ".npmrc"),
    ca: AUTHORITIES,
  };
  return Object.entries(files).flatMap(([id, path]) =>
    existsSync(path) ? ["--secret", `id=${id},src=${path}`] : [],
  );
}

/** One archive of the layout, with the names under which a container runtime files the images. */
async function packLayout(): Promise<string> {
  interface Index {
    manifests: { annotations: Record<string, string> }[];
  }
  const file = join(LAYOUT, "index.json");
  const index = JSON.parse(readFileSync(file, "utf8")) as Index;
  for (const { annotations } of index.manifests) {
    annotations["io.containerd.image.name"] =
      annotations["org.opencontainers.image.ref.name"] ?? "";
  }
  writeFileSync(file, JSON.stringify(index));
  await run("tar", ["-C", LAYOUT, "-cf", `${LAYOUT}.tar`, "."]);
  return `${LAYOUT}.tar`;
}

const buildah = (...args: readonly string[]): Promise<string> =>
  run("buildah", [...STORAGE, ...args], { nice: true, cwd: ROOT });
