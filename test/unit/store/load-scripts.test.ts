/** The library is built from `lua/`: includes in order of need, named errors for wrong ones. */
import { mkdtempSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { ALL_BINDINGS } from "../../../store/bindings/all.ts";
import { LUA_FOLDER, loadScripts } from "../../../store/load-scripts.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-lua-"));
  folders.push(folder);
  mkdirSync(join(folder, "include"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

describe("load scripts", () => {
  test("puts an include once, before everything that needs it", () => {
    const library = loadScripts(
      folderWith({
        "one.lua": '--- @include "high"\nreturn high()',
        "two.lua": '--- @include "low"\n--- @include "high"\nreturn low()',
        "include/high.lua": '--- @include "low"\nlocal function high() return low() end',
        "include/low.lua": "local function low() return 1 end",
      }),
    );
    expect(library.source.match(/local function low/g)).toHaveLength(1);
    expect(library.source.indexOf("function low")).toBeLessThan(
      library.source.indexOf("function high"),
    );
    expect(library.source).not.toContain("@include");
    expect(library.scripts).toEqual(["one", "two"]);
  });

  test("names library and functions by a digest that changes with any file", () => {
    const files = { "a-b.lua": '--- @include "x"\nreturn x', "include/x.lua": "local x = 1" };
    const before = loadScripts(folderWith(files));
    const again = loadScripts(folderWith(files));
    const after = loadScripts(folderWith({ ...files, "include/x.lua": "local x = 2" }));
    expect(again.source).toBe(before.source);
    expect(after.name).not.toBe(before.name);
    expect(before.name).toMatch(/^pilotlight_[0-9a-f]{12}$/);
    expect(before.functionName("a-b")).toBe(`a_b_${before.name.slice("pilotlight_".length)}`);
  });

  test("says which file asks for a missing include", () => {
    const folder = folderWith({ "one.lua": '--- @include "nothing"\nreturn 1' });
    expect(() => loadScripts(folder)).toThrow(
      `${folder}/one.lua includes ${folder}/include/nothing.lua, which is missing`,
    );
  });

  test("shows the circle of a circular include", () => {
    const folder = folderWith({
      "one.lua": '--- @include "a"',
      "include/a.lua": '--- @include "b"',
      "include/b.lua": '--- @include "a"',
    });
    expect(() => loadScripts(folder)).toThrow(/Circular include in .*b\.lua: a -> b -> a/);
  });

  test("keeps the functions of requests in variables when a block has more than Lua takes", () => {
    const rare = Array.from(
      { length: 220 },
      (_, i) => `local function rare_${i}() return ${i} end`,
    );
    const library = loadScripts(
      folderWith({
        "acquire-lease.lua": '--- @include "quick"\nreturn quick()',
        "sweep.lua": '--- @include "quick"\n--- @include "many"\nreturn rare_7() + rare_219()',
        "include/quick.lua": "local function quick() return 1 end",
        "include/many.lua": rare.join("\n"),
      }),
    );
    expect(library.source).toContain("local function quick()");
    expect(library.source).toContain("function rare.rare_7() return 7 end");
    expect(library.source).toContain("return rare.rare_7() + rare.rare_219()");
    expect(library.source.match(/local function/g)).toHaveLength(1);
  });
});

interface Header {
  readonly purpose: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly sections: readonly string[];
}

function readHeader(script: string): Header {
  const lines = readFileSync(join(LUA_FOLDER, `${script}.lua`), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("-- "))
    .map((line) => line.slice(3));
  const keysLine = lines.find((line) => line.startsWith("Keys: ")) ?? "";
  const from = lines.indexOf("Args:") + 1;
  const length = lines.slice(from).findIndex((line) => !line.startsWith("  "));
  return {
    purpose: lines[0] ?? "",
    keys: keysLine.split(" ").slice(1),
    args: lines.slice(from, from + length).map((line) => line.trim().split(/ +/)[0] ?? ""),
    sections: lines
      .filter((line) => /^[A-Z][a-z]+:/.test(line))
      .map((line) => line.split(":")[0] ?? ""),
  };
}

describe("script headers", () => {
  test("every script has one binding", () => {
    expect(ALL_BINDINGS.map(({ script }) => script).toSorted()).toEqual(loadScripts().scripts);
  });

  test.each(ALL_BINDINGS.map((binding) => [binding.script, binding] as const))(
    "%s names the keys and arguments of its binding",
    (script, binding) => {
      const header = readHeader(script);
      expect(header.keys).toEqual(binding.keys);
      expect(header.args).toEqual(binding.args);
      expect(header.sections).toEqual(["Keys", "Args", "Reply", "Cost", "Caller"]);
      expect(header.purpose).toMatch(/^[A-Z]/);
      expect(header.keys.length).toBeLessThanOrEqual(12);
    },
  );

  test.each(loadScripts().scripts)("%s builds no key name and uses no bare index", (script) => {
    const text = readFileSync(join(LUA_FOLDER, `${script}.lua`), "utf8");
    expect(text.split("\n").length).toBeLessThanOrEqual(100);
    expect(text).not.toMatch(/redis\.call\('[A-Z]+', '/);
    expect(text).not.toContain("pcall");
  });

  test("no include is longer than what one screen shows", () => {
    for (const file of readdirSync(join(LUA_FOLDER, "include"))) {
      const lines = readFileSync(join(LUA_FOLDER, "include", file), "utf8").split("\n");
      const code = lines.filter((line) => line.trim() !== "" && !line.startsWith("--"));
      expect(code.length, file).toBeLessThanOrEqual(40);
    }
  });

  test("every script has a row in the README", () => {
    const readme = readFileSync(join(LUA_FOLDER, "README.md"), "utf8");
    for (const script of loadScripts().scripts) expect(readme).toContain(`\`${script}\``);
  });
});
