/** Changes of files as people and programs make them: none may be missed, none told twice. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { watchFiles } from "../../../local/file-watch.ts";
import type { FileWatch } from "../../../local/file-watch.ts";
import { eventually } from "../../support/eventually.ts";

let root = "";
let watch: FileWatch | undefined;
let seen: string[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "pilotlight-watch-"));
  await mkdir(join(root, "services"));
  seen = [];
});
afterEach(async () => {
  watch?.close();
  await rm(root, { recursive: true, force: true });
});

const at = (...parts: string[]): string => join(root, "services", ...parts);

function start(files: readonly string[], folders: readonly string[] = []): void {
  watch = watchFiles({ files, folders }, (changed) =>
    seen.push(...changed.map((file) => basename(file))),
  );
}

async function told(names: readonly string[]): Promise<void> {
  await eventually(() => seen.length >= names.length, { timeoutMs: 4_000, what: "changes" });
  expect(seen).toEqual(names);
  seen = [];
}

it("tells of a file that is written, replaced, removed and back, once each", async () => {
  await writeFile(at("a.yaml"), "1");
  start([at("a.yaml")]);
  await writeFile(at("a.yaml"), "2");
  await told(["a.yaml"]);
  await writeFile(at("draft"), "three");
  await rename(at("draft"), at("a.yaml"));
  await told(["a.yaml"]);
  await rm(at("a.yaml"));
  await told(["a.yaml"]);
  await writeFile(at("a.yaml"), "4");
  await told(["a.yaml"]);
});

it("tells of a change behind a link", async () => {
  await writeFile(join(root, "real"), "1");
  await symlink(join(root, "real"), at("a.yaml"));
  start([at("a.yaml")]);
  await writeFile(join(root, "real"), "longer");
  await told(["a.yaml"]);
});

it("goes on after its folder was removed and made again", async () => {
  await writeFile(at("a.yaml"), "1");
  start([], [at()]);
  await rm(at(), { recursive: true });
  await told(["a.yaml"]);
  await mkdir(at());
  await writeFile(at("b.yaml"), "1");
  await told(["b.yaml"]);
  await writeFile(at("b.yaml"), "2, longer");
  await told(["b.yaml"]);
});
