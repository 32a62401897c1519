/**
 * Builds programs from their Go modules into the cache, one folder per hash of the pins. A group
 * that is there already is not built again, so a broken build goes on where it ended.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { CACHE } from "../layout.ts";
import type { Progress } from "../progress.ts";
import { attempt, run } from "../run.ts";
import { TOOLS, hashOf } from "./pins.ts";
import type { GoTool } from "./pins.ts";

/** Compilers at a time: more need more memory than a small machine has. */
const PARALLEL = 2;
/** The oldest Go that every pinned module accepts. */
const GO_AT_LEAST = [1, 25] as const;

export const binFolder = (tool: GoTool): string =>
  join(CACHE, `${tool.folder}-${hashOf(tool)}`, "bin");

const programsOf = (tool: GoTool, group: readonly string[]): readonly string[] =>
  group.map((path) => (path === "." ? tool.folder : basename(path)));

/** Builds what is missing and returns the folder of the programs. */
export async function ensureGoTool(tool: GoTool, progress: Progress): Promise<string> {
  const folder = binFolder(tool);
  const missing = tool.groups.filter((group) =>
    programsOf(tool, group).some((name) => !existsSync(join(folder, name))),
  );
  const suites = Object.entries(tool.suites ?? {}).filter(
    ([name]) => !existsSync(join(folder, name)),
  );
  if (missing.length + suites.length === 0) return folder;
  await requireGo();
  mkdirSync(folder, { recursive: true });
  removeOlder(tool);
  for (const group of missing) {
    const names = programsOf(tool, group).join(", ");
    await progress.step(`Building ${tool.title}: ${names}`, () => build(tool, group, progress));
  }
  for (const [name, path] of suites) {
    await progress.step(`Building ${tool.title}: ${name}`, () => {
      return compile(
        tool,
        ["test", "-c", "-tags", "e2e", "-o", join(folder, name), path],
        progress,
      );
    });
  }
  return folder;
}

async function build(tool: GoTool, group: readonly string[], progress: Progress): Promise<void> {
  const folder = binFolder(tool);
  const half = join(folder, "..", "half");
  rmSync(half, { recursive: true, force: true });
  mkdirSync(half, { recursive: true });
  await compile(tool, ["build", "-o", `${half}/`, ...group], progress);
  for (const name of readdirSync(half)) renameSync(join(half, name), join(folder, name));
  rmSync(half, { recursive: true });
}

/** Runs one command of the compiler with the options that all builds share. */
async function compile(
  tool: GoTool,
  [command = "", ...args]: readonly string[],
  progress: Progress,
): Promise<void> {
  let packages = 0;
  const shared = ["-v", "-p", String(PARALLEL), "-mod=readonly", "-trimpath"];
  await run("go", [command, ...shared, "-ldflags", tool.ldflags, ...args], {
    cwd: join(TOOLS, tool.folder),
    env: { CGO_ENABLED: "0", GOFLAGS: "" },
    nice: true,
    onLine: (line) => {
      if (!/^(\S+\/)+\S+$/.test(line)) return;
      packages += 1;
      progress.detail(`${packages} packages compiled`);
    },
  });
}

/** Where the module that a wrapper requires lies, with the manifests that it carries. */
export async function moduleFolder(tool: GoTool, module: string): Promise<string> {
  const cwd = join(TOOLS, tool.folder);
  await run("go", ["mod", "download", module], { cwd });
  return (
    await run("go", ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module], { cwd })
  ).trim();
}

async function requireGo(): Promise<void> {
  const said = await attempt("go", ["env", "GOVERSION"]).catch(() => undefined);
  const [, major = "0", minor = "0"] = /go(\d+)\.(\d+)/.exec(said?.stdout ?? "") ?? [];
  const newEnough =
    Number(major) > GO_AT_LEAST[0] ||
    (Number(major) === GO_AT_LEAST[0] && Number(minor) >= GO_AT_LEAST[1]);
  if (newEnough) return;
  const found = said === undefined ? "none is on the PATH" : `this is ${said.stdout.trim()}`;
  throw new Error(
    `The cluster's programs are built from their Go modules, which needs Go ${GO_AT_LEAST.join(".")} ` +
      `or newer; ${found}. Install Go and try again.`,
  );
}

/** Builds of earlier pins, unless they are as fresh as a branch that somebody switches between. */
function removeOlder(tool: GoTool): void {
  const week = 7 * 24 * 3600_000;
  for (const name of readdirSync(CACHE)) {
    const path = join(CACHE, name);
    if (!name.startsWith(`${tool.folder}-`) || path === join(binFolder(tool), "..")) continue;
    if (Date.now() - statSync(path).mtimeMs > week) rmSync(path, { recursive: true, force: true });
  }
}
