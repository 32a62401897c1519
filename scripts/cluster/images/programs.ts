/** Images of single static programs: a layer with what programs expect of a system, and one with the program. */
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { ImageSource } from "./archive.ts";
import { writeArchive } from "./archive.ts";

export interface ProgramImage {
  readonly name: string;
  readonly program: string;
  readonly args?: readonly string[];
  /** Where the program lies in the image; default `app`. */
  readonly folder?: string;
}

/** Whom the images run as, like the ones that are published. */
export const USER = "65532";

export async function writeProgramArchive(
  images: readonly ProgramImage[],
  file: string,
): Promise<void> {
  const folder = `${file}.trees`;
  rmSync(folder, { recursive: true, force: true });
  const system = systemTree(join(folder, "system"));
  const sources = images.map((image, index): ImageSource => {
    const { name, program, args = [], folder: place = "app" } = image;
    const tree = join(folder, String(index));
    mkdirSync(join(tree, place), { recursive: true });
    copyFileSync(program, join(tree, place, basename(program)));
    const Entrypoint = [`/${place}/${basename(program)}`, ...args];
    const config = { User: `${USER}:${USER}`, Env: [`PATH=/${place}`, "HOME=/tmp"], Entrypoint };
    return { name, layers: [system, tree], config: { ...config, WorkingDir: "/" } };
  });
  await writeArchive(sources, file);
  rmSync(folder, { recursive: true });
}

function systemTree(tree: string): string {
  mkdirSync(join(tree, "etc"), { recursive: true });
  mkdirSync(join(tree, "tmp"));
  chmodSync(join(tree, "tmp"), 0o1777);
  const passwd = `root:x:0:0:root:/:/\nnonroot:x:${USER}:${USER}:nonroot:/tmp:/\n`;
  writeFileSync(join(tree, "etc/passwd"), passwd);
  writeFileSync(join(tree, "etc/group"), `root:x:0:\nnonroot:x:${USER}:\n`);
  return tree;
}
