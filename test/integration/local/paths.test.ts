/** What the paths of a command line stand for. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expandPaths, sortPaths } from "../../../local/paths.ts";

let root = "";
const FILES = ["flat/a.yaml", "flat/b.yml", "flat/.draft.yaml", "flat/sub/c.yaml", "flat/note.txt"];
const DEEP = [
  "deep/one/service.yaml",
  "deep/two/service.yaml",
  "deep/none/x.txt",
  "deep/.git/z.yaml",
];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "pilotlight-paths-"));
  for (const file of [...FILES, ...DEEP, "empty/x.txt"]) {
    await mkdir(join(root, file, ".."), { recursive: true });
    await writeFile(join(root, file), "");
  }
});
afterAll(() => rm(root, { recursive: true, force: true }));

const shown = (paths: readonly string[]): string[] => paths.map((path) => relative(root, path));

describe("expandPaths", () => {
  const rows: [name: string, given: string[], files: string[]][] = [
    ["a file", ["flat/note.txt"], ["flat/note.txt"]],
    ["a folder: the YAML files directly in it", ["flat"], ["flat/a.yaml", "flat/b.yml"]],
    ["a folder of folders", ["deep"], ["deep/one/service.yaml", "deep/two/service.yaml"]],
    ["a folder without any", ["empty"], []],
    ["each file once", ["flat/a.yaml", "flat"], ["flat/a.yaml", "flat/b.yml"]],
  ];
  it.each(rows)("%s", async (_name, given, files) => {
    expect(shown(await expandPaths(given.map((path) => join(root, path))))).toEqual(files);
  });

  it("refuses what is not there", async () => {
    await expect(expandPaths([join(root, "nowhere")])).rejects.toThrow("There is no file");
  });
});

it("watches the folders whose files count", async () => {
  const { files, folders } = await sortPaths(
    ["flat/a.yaml", "deep", "empty"].map((path) => join(root, path)),
  );
  expect(shown(files)).toEqual(["flat/a.yaml"]);
  expect(shown(folders)).toEqual(["deep/one", "deep/two", "empty"]);
});
