/**
 * Everything that is measured beside ours, from Debian and from its Go module, unpacked or built
 * once into `.cache/bench`. What cannot be had is left out with the reason, never guessed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const CACHE = join(ROOT, ".cache/bench");
const DEBIAN = join(CACHE, "debian");
const STOCK = join(CACHE, "stock");
const STOCK_MODULE = "knative.dev/serving";
const STOCK_VERSION = "v0.50.0";

/** A program and the environment in which it runs, or why it is not there. */
export type Tool =
  | { readonly path: string; readonly env: Readonly<Record<string, string>> }
  | { readonly why: string };

export interface Tools {
  readonly wrk: Tool;
  readonly nginx: Tool;
  readonly haproxy: Tool;
  readonly stock: Tool;
  /** Stock's activator in a program of ours around its handler chain. */
  readonly stockActivator: Tool;
  readonly sidecar: string;
}

export function findTools(): Tools {
  const [wrk, nginx, haproxy] = ["wrk", "nginx", "haproxy"].map(debianTool);
  const missing = { why: "not looked for" };
  return {
    wrk: wrk ?? missing,
    nginx: nginx ?? missing,
    haproxy: haproxy ?? missing,
    stock: stockQueueProxy(),
    stockActivator: stockActivator(),
    sidecar: sidecarBundle(),
  };
}

function debianTool(name: string): Tool {
  const installed = onPath(name);
  if (installed !== undefined) return { path: installed, env: {} };
  const why = unpackedTool(name) === undefined ? unpackDebian() : undefined;
  const path = unpackedTool(name);
  const libraries = join(DEBIAN, "tree/usr/lib/x86_64-linux-gnu");
  if (path !== undefined) return { path, env: { LD_LIBRARY_PATH: libraries } };
  return { why: why ?? `Debian's packages hold no ${name}` };
}

function unpackedTool(name: string): string | undefined {
  const folders = ["usr/sbin", "usr/bin"].map((folder) => join(DEBIAN, "tree", folder, name));
  return folders.find((path) => existsSync(path));
}

/** Downloads and unpacks without installing, so that no service starts. Returns why it failed. */
function unpackDebian(): string | undefined {
  if (onPath("apt-get") === undefined) return "this is no Debian";
  const archives = join(DEBIAN, "apt/archives");
  mkdirSync(join(archives, "partial"), { recursive: true });
  mkdirSync(join(DEBIAN, "tree"), { recursive: true });
  const options = [
    "install",
    "-y",
    "-q",
    "--download-only",
    "-o",
    `Dir::Cache::archives=${archives}`,
  ];
  const failure = run("apt-get", [...options, "nginx", "haproxy", "wrk"], DEBIAN);
  if (failure !== undefined) return failure;
  for (const file of readdirSync(archives).filter((name) => name.endsWith(".deb"))) {
    run("dpkg-deb", ["-x", join(archives, file), join(DEBIAN, "tree")], DEBIAN);
  }
  return undefined;
}

/** The stock queue-proxy through a wrapper module, since its own go.mod cannot be installed from. */
function stockQueueProxy(): Tool {
  const imports = `//go:build tools\n\npackage tools\n\nimport _ "${STOCK_MODULE}/cmd/queue"\n`;
  return goProgram({
    name: "queue",
    folder: "mod",
    sources: { "tools.go": imports },
    target: `${STOCK_MODULE}/cmd/queue`,
  });
}

function stockActivator(): Tool {
  const source = readFileSync(join(import.meta.dirname, "stock-activator/main.go"), "utf8");
  return goProgram({
    name: "activator",
    folder: "activator-mod",
    sources: { "main.go": source },
    target: ".",
  });
}

interface GoProgram {
  readonly name: string;
  readonly folder: string;
  readonly sources: Readonly<Record<string, string>>;
  readonly target: string;
}

/** Built once, and again when its sources have changed. */
function goProgram({ name, folder: folderName, sources, target }: GoProgram): Tool {
  const path = join(STOCK, name);
  const folder = join(STOCK, folderName);
  const files = Object.entries(sources).map(([file, text]) => ({ file: join(folder, file), text }));
  const isFresh = files.every(({ file, text }) => readIfThere(file) === text);
  if (existsSync(path) && isFresh) return { path, env: {} };
  if (onPath("go") === undefined) return { why: "Go is not on the PATH" };
  console.error(`Building the stock ${name} (first run only, minutes) ...`);
  mkdirSync(folder, { recursive: true });
  const source = moduleFolder(folder);
  if (source === undefined) return { why: `${STOCK_MODULE} ${STOCK_VERSION} could not be fetched` };
  const own = readFileSync(join(source, "go.mod"), "utf8").replace(
    /^module .*$/m,
    "module bench.local/stock",
  );
  writeFileSync(join(folder, "go.mod"), `${own}\nrequire ${STOCK_MODULE} ${STOCK_VERSION}\n`);
  writeFileSync(join(folder, "go.sum"), readFileSync(join(source, "go.sum")));
  for (const { file, text } of files) writeFileSync(file, text);
  const build = ["build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o", path, target];
  const why =
    run("go", ["mod", "tidy"], folder) ?? run("nice", ["-n", "10", "go", ...build], folder);
  return why === undefined ? { path, env: {} } : { why };
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

function moduleFolder(folder: string): string | undefined {
  const result = spawnSync("go", ["mod", "download", "-json", `${STOCK_MODULE}@${STOCK_VERSION}`], {
    cwd: folder,
    encoding: "utf8",
  });
  if (result.status !== 0) return undefined;
  return (JSON.parse(result.stdout) as { readonly Dir?: string }).Dir;
}

function sidecarBundle(): string {
  const folder = join(ROOT, ".cache/queue-proxy");
  const failure = run(process.execPath, [join(ROOT, "scripts/build-sidecar.ts"), folder], ROOT);
  if (failure !== undefined) throw new Error(`The sidecar cannot be bundled: ${failure}`);
  return join(folder, "main.cjs");
}

function onPath(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

function run(command: string, args: readonly string[], cwd: string): string | undefined {
  const result = spawnSync(command, [...args], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, CGO_ENABLED: "0", DEBIAN_FRONTEND: "noninteractive" },
  });
  if (result.status === 0) return undefined;
  return `${command} ${args[0]}: ${(result.stderr || String(result.error)).trim().split("\n").at(-1)}`;
}
