/**
 * The images that others publish and ours stand on, made here from Debian's packages under the
 * published names, since a cluster without an uplink cannot fetch them: the Node image that the
 * Dockerfiles name, and Valkey's.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { CACHE, ROOT } from "../layout.ts";
import { run } from "../run.ts";
import { writeArchive } from "./archive.ts";

const RELEASE = "bookworm";
const PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const NODE = join(ROOT, "node_modules/node/bin/node");

/** The smallest Debian that apt calls one. */
async function debian(): Promise<string> {
  const file = join(CACHE, `debian-${RELEASE}.tar`);
  if (existsSync(file)) return file;
  const args = ["--variant=minbase", "--include=ca-certificates", "--quiet", RELEASE];
  await run("mmdebstrap", [...args, `${file}.new.tar`], { nice: true });
  renameSync(`${file}.new.tar`, file);
  return file;
}

/** Names that the stages of a Dockerfile start from, other stages left out. */
export function baseNames(dockerfile: string): readonly string[] {
  const text = readFileSync(dockerfile, "utf8");
  const defaults = new Map(
    [...text.matchAll(/^ARG\s+(\w+)=(\S+)/gim)].map(([, name, value]) => [name, value ?? ""]),
  );
  const stages = new Set([...text.matchAll(/^FROM\s+.*\sAS\s+(\S+)/gim)].map(([, name]) => name));
  const bases = [...text.matchAll(/^FROM\s+(?:--\S+\s+)*(\S+)/gim)].map(([, name = ""]) =>
    name.replace(/^\$\{?(\w+)\}?$/, (whole, variable: string) => defaults.get(variable) ?? whole),
  );
  return [...new Set(bases.filter((name) => !stages.has(name)))];
}

/** An archive with a Node image under each of the names. */
export async function nodeArchive(names: readonly string[]): Promise<string> {
  const file = join(CACHE, "node-image.tar");
  const tree = join(CACHE, "node-image");
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(join(tree, "usr/local/bin"), { recursive: true });
  copyFileSync(NODE, join(tree, "usr/local/bin/node"));
  chmodSync(join(tree, "usr/local/bin/node"), 0o755);
  const npm = (await run("sh", ["-c", "command -v npm"])).trim();
  const library = dirname(dirname(realpathSync(npm)));
  cpSync(library, join(tree, "usr/local/lib/node_modules/npm"), { recursive: true });
  for (const program of ["npm", "npx"]) {
    const target = `../lib/node_modules/npm/bin/${program}-cli.js`;
    symlinkSync(target, join(tree, "usr/local/bin", program));
  }
  const layers = [await debian(), tree];
  const config = { Env: [PATH], Cmd: ["node"] };
  await writeArchive(
    names.map((name) => ({ name, layers, config })),
    file,
  );
  rmSync(tree, { recursive: true });
  return file;
}

/** Valkey as Debian builds it, under the name that the manifests use. */
export async function valkeyArchive(name: string): Promise<string> {
  const file = join(CACHE, `valkey-image-${name.replaceAll(/[^\w.-]/g, "-")}.tar`);
  const packages = join(ROOT, ".cache/valkey/tree/usr");
  if (existsSync(file)) return file;
  if (!existsSync(packages)) {
    throw new Error(`Debian's Valkey is not in ${packages}: npm run cluster:images unpacks it`);
  }
  // Only /usr: the packages' /lib would replace the base's link of that name.
  const tree = join(CACHE, "valkey-image");
  cpSync(packages, join(tree, "usr"), { recursive: true, verbatimSymlinks: true });
  const config = { Env: [PATH], User: "999:999", Cmd: ["valkey-server"], WorkingDir: "/data" };
  await writeArchive([{ name, layers: [await debian(), tree], config }], file);
  rmSync(tree, { recursive: true });
  return file;
}
