/**
 * Builds the one function library out of `lua/`: includes first, each once and in the order of
 * need, then a function per script. Library and functions carry the digest of the source, so two
 * versions live side by side during a rollout. Constants are put in place of their names.
 */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { PlatformError } from "../common/errors.ts";

export interface ScriptLibrary {
  readonly name: string;
  readonly source: string;
  /** Scripts by file name without ending, e.g. `acquire-lease`. */
  readonly scripts: readonly string[];
  /** Name under which the server knows a script. */
  functionName(script: string): string;
}

/** Beside this folder, in the sources and in the build. */
export const LUA_FOLDER = fileURLToPath(new URL("../lua", import.meta.url));

const INCLUDE = /^--- @include "([a-z0-9-]+)"$/gm;
const DIGEST_LENGTH = 12;

export function loadScripts(folder: string = LUA_FOLDER): ScriptLibrary {
  const scripts = readdirSync(folder)
    .filter((file) => file.endsWith(".lua"))
    .map((file) => file.slice(0, -".lua".length))
    .toSorted();
  const bodies = scripts.map((script) => {
    const path = `${folder}/${script}.lua`;
    const text = readFileSync(path, "utf8");
    const includes = new IncludeList(folder);
    includes.addAllOf(text, path);
    return { script, text: withoutIncludes(text), includes: includes.texts };
  });

  const hash = createHash("sha256");
  for (const { script, text, includes } of bodies) {
    hash.update(script).update(text);
    for (const include of includes.values()) hash.update(include);
  }
  const digest = hash.digest("hex").slice(0, DIGEST_LENGTH);
  const functionName = (script: string): string => `${script.replaceAll("-", "_")}_${digest}`;

  const hot = new Set(bodies.filter(isHot).flatMap(({ includes }) => [...includes.keys()]));
  const blocks = familiesOf(bodies).map(({ includes, scripts: members }) => {
    const functions = members.map(
      ({ script, text }) =>
        `redis.register_function('${functionName(script)}', function(KEYS, ARGV)\n${text}\nend)`,
    );
    const text = inlineConstants([...includes.values(), ...functions].join("\n"));
    const rare = [...includes].filter(([name]) => !hot.has(name)).map(([, include]) => include);
    return `do\n${withoutLocals(text, namesOf(rare))}\nend\n`;
  });
  const name = `pilotlight_${digest}`;
  return { name, source: `#!lua name=${name}\n${blocks.join("")}`, scripts, functionName };
}

interface Script {
  readonly script: string;
  readonly text: string;
  readonly includes: ReadonlyMap<string, string>;
}

interface Family {
  readonly includes: Map<string, string>;
  readonly scripts: Script[];
}

/**
 * Scripts that share includes, by way of others too. Each family is a block of its own: Lua takes 200
 * names in one, and names of one part must not meet those of another.
 */
function familiesOf(scripts: readonly Script[]): readonly Family[] {
  const families = new Set<Family>();
  for (const script of scripts) {
    const related = [...families].filter(({ includes }) =>
      [...script.includes.keys()].some((name) => includes.has(name)),
    );
    const all = [...related.flatMap((family) => family.scripts), script];
    for (const family of related) families.delete(family);
    // Each map is in the order of need, so the first mention of a name is behind what it needs.
    families.add({ includes: new Map(all.flatMap(({ includes }) => [...includes])), scripts: all });
  }
  return [...families];
}

/** Scripts that every request runs: what they include stays in variables, where a call costs least. */
const HOT_SCRIPTS: ReadonlySet<string> = new Set([
  "acquire-lease",
  "release-lease",
  "serve-requests",
]);

function isHot({ script }: { readonly script: string }): boolean {
  return HOT_SCRIPTS.has(script);
}

/** Functions that include files define. */
function namesOf(includes: readonly string[]): ReadonlySet<string> {
  const names = includes.flatMap((text) => [...text.matchAll(/^local function (\w+)/gm)]);
  return new Set(names.map(([, name = ""]) => name));
}

const WORD =
  /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|--[^\n]*|(local function )?(?<![.:\w])([a-z]\w*)\b/g;

/** Lua takes 200 local variables in one block; constants are none any more. */
const MOST_LOCALS = 180;

/**
 * Where a block would have too many local variables, functions of these names become fields of one
 * table. Lines keep their numbers.
 */
function withoutLocals(source: string, names: ReadonlySet<string>): string {
  if ((source.match(/^local /gm)?.length ?? 0) <= MOST_LOCALS) return source;
  const moved = source.replace(
    WORD,
    (word, local: string | undefined, name: string | undefined) => {
      if (name === undefined || !names.has(name)) return word;
      return local === undefined ? `rare.${name}` : `function rare.${name}`;
    },
  );
  return `local rare = {} ${moved}`;
}

/** `local NAME, OTHER = 1, 'two'`: numbers and texts only, all other values stay variables. */
const CONSTANTS =
  /^local ([A-Z][A-Z0-9_]*(?:,\s*[A-Z][A-Z0-9_]*)*) =\s*((?:-?\d+|'[^'\n]*')(?:,\s*(?:-?\d+|'[^'\n]*'))*)$/gm;
const VALUE = /-?\d+|'[^'\n]*'/g;
const TOKEN = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|--[^\n]*|\b[A-Z][A-Z0-9_]*\b/g;

/**
 * Puts constants in place of their names. A name of the outer block costs every use an instruction
 * of the interpreter, and Lua takes 200 of them; lines keep their numbers.
 */
function inlineConstants(source: string): string {
  const values = new Map<string, string>();
  const rest = source.replace(CONSTANTS, (line, names: string, list: string) => {
    const found = list.match(VALUE) ?? [];
    for (const [index, name] of names.split(/,\s*/).entries()) {
      values.set(name, found[index] ?? "nil");
    }
    return "\n".repeat(line.split("\n").length - 1);
  });
  return rest.replace(TOKEN, (token) => values.get(token) ?? token);
}

function withoutIncludes(text: string): string {
  return text.replace(INCLUDE, "").trim();
}

/** The include files that a script asks for, each after those that it asks for itself. */
class IncludeList {
  readonly #folder: string;
  readonly #texts = new Map<string, string>();
  /** Files being read now, to see a circle. */
  readonly #open: string[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** In the order of need. */
  get texts(): ReadonlyMap<string, string> {
    return this.#texts;
  }

  addAllOf(text: string, path: string): void {
    for (const [, name] of text.matchAll(INCLUDE)) {
      if (name !== undefined) this.#add(name, path);
    }
  }

  #add(name: string, from: string): void {
    if (this.#texts.has(name)) return;
    if (this.#open.includes(name)) {
      const circle = [...this.#open.slice(this.#open.indexOf(name)), name].join(" -> ");
      throw new PlatformError("ERR_SCRIPT_LOAD", `Circular include in ${from}: ${circle}`);
    }
    const path = `${this.#folder}/include/${name}.lua`;
    this.#open.push(name);
    const text = readInclude(path, from);
    this.addAllOf(text, path);
    this.#open.pop();
    this.#texts.set(name, withoutIncludes(text));
  }
}

function readInclude(path: string, from: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new PlatformError("ERR_SCRIPT_LOAD", `${from} includes ${path}, which is missing`, {
      cause,
    });
  }
}
