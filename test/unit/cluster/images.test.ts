/** What the rig reads out of Dockerfiles, so that it makes the base images under their own names. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { baseNames } from "../../../scripts/cluster/images/base.ts";
import { ownImages } from "../../../scripts/cluster/images/ours.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dockerfile-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function namesIn(text: string): readonly string[] {
  const file = join(folder, "Dockerfile");
  writeFileSync(file, text);
  return baseNames(file);
}

describe("base images of a Dockerfile", () => {
  it.each([
    ["a plain name", "FROM node:24-slim\n", ["node:24-slim"]],
    ["a variable with a default", "ARG N=node:24\nFROM ${N} AS build\n", ["node:24"]],
    ["a stage that stands on another", "FROM a:1 AS x\nFROM x AS y\nFROM b:2\n", ["a:1", "b:2"]],
    ["a platform", "FROM --platform=linux/amd64 a:1\n", ["a:1"]],
  ])("knows %s", (_, text, names) => {
    expect(namesIn(text)).toEqual(names);
  });

  it("finds some in every Dockerfile that the rig builds", () => {
    for (const { dockerfile } of ownImages) expect(baseNames(dockerfile)).not.toHaveLength(0);
  });
});
