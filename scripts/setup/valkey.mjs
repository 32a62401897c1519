/**
 * Finds a Valkey server, or unpacks Debian's package into `.cache/valkey` without touching the
 * system. Order: VALKEY_URL, PILOTLIGHT_VALKEY, PATH, the cache, Debian's packages, Redis 7 on the
 * PATH (named as such). Returns the environment that tells the product which one to run.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";

/** The server and what Debian's build of it needs beyond a minimal system. */
const PACKAGES = ["valkey-server", "valkey-tools", "libjemalloc2", "liblzf1", "libatomic1"];
/** Which suite of a Debian release carries Valkey. */
const SUITES = { bookworm: "bookworm-backports", trixie: "trixie", forky: "forky", sid: "sid" };

export function ensureValkey(root) {
  if (process.env.VALKEY_URL) return {};
  const known = process.env.PILOTLIGHT_VALKEY ?? onPath("valkey-server") ?? cached(root);
  if (known) return { PILOTLIGHT_VALKEY: known };

  const failure = unpackDebianPackage(root);
  const unpacked = cached(root);
  if (unpacked) return { PILOTLIGHT_VALKEY: unpacked };

  const redis = onPath("redis-server");
  if (redis) {
    console.error(`Using Redis (${redis}) as a fall-back for Valkey: ${failure}.`);
    return { PILOTLIGHT_VALKEY: redis };
  }
  throw new Error(
    `No Valkey server: ${failure}.\nInstall valkey-server 8 (or Redis 7) so that it is on the PATH, ` +
      "set PILOTLIGHT_VALKEY to its binary, or set VALKEY_URL to a running one.",
  );
}

function onPath(program) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    if (folder !== "" && existsSync(join(folder, program))) return join(folder, program);
  }
  return undefined;
}

function cached(root) {
  const server = join(root, ".cache/valkey/bin/valkey-server");
  return existsSync(server) && runs(server) ? server : undefined;
}

function runs(server) {
  return spawnSync(server, ["--version"], { stdio: "ignore" }).status === 0;
}

/** Returns why it did not work, or undefined. */
function unpackDebianPackage(root) {
  if (!onPath("apt-get") || !onPath("dpkg-deb"))
    return "valkey-server is not on the PATH and this is no Debian";
  console.error("Installing Valkey into .cache/valkey (first run only, seconds) ...");
  const folder = join(root, ".cache/valkey");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "apt/lists/partial"), { recursive: true });
  mkdirSync(join(folder, "apt/cache/archives/partial"), { recursive: true });
  mkdirSync(join(folder, "debs"), { recursive: true });
  try {
    const options = aptOptions(folder);
    run("apt-get", [...options, "update"], folder);
    run("apt-get", [...options, "download", ...PACKAGES], join(folder, "debs"));
    for (const file of readdirSync(join(folder, "debs"))) {
      run("dpkg-deb", ["-x", join(folder, "debs", file), join(folder, "tree")], folder);
    }
    writeWrappers(folder);
    return runs(join(folder, "bin/valkey-server"))
      ? undefined
      : "the unpacked valkey-server does not run";
  } catch (error) {
    return error.message;
  } finally {
    rmSync(join(folder, "apt"), { recursive: true, force: true });
    rmSync(join(folder, "debs"), { recursive: true, force: true });
  }
}

/** apt with lists and cache of its own; the mirror is whichever the system uses for its own release. */
function aptOptions(folder) {
  const release = readFileSync("/etc/os-release", "utf8");
  const codename = /^VERSION_CODENAME=(.*)$/m.exec(release)?.[1] ?? "";
  const mirror = systemMirror(codename);
  const suite = SUITES[codename] ?? codename;
  const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
  const signed = existsSync(keyring) ? `[signed-by=${keyring}] ` : "";
  const lines = [...new Set([codename, suite])].map(
    (name) => `deb ${signed}${mirror} ${name} main`,
  );
  writeFileSync(join(folder, "apt/sources.list"), `${lines.join("\n")}\n`);
  const settings = {
    "Dir::Etc::sourcelist": join(folder, "apt/sources.list"),
    "Dir::Etc::sourceparts": "-",
    "Dir::State::lists": join(folder, "apt/lists"),
    "Dir::Cache": join(folder, "apt/cache"),
    "APT::Sandbox::User": "",
    "APT::Default-Release": suite,
    "Acquire::Retries": "3",
  };
  return ["-q", ...Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`])];
}

function systemMirror(codename) {
  const listed = spawnSync("apt-get", ["indextargets", "--format", "$(RELEASE) $(REPO_URI)"], {
    encoding: "utf8",
  });
  for (const line of (listed.stdout ?? "").split("\n")) {
    const [release, uri] = line.split(" ");
    if (release === codename && uri) return uri;
  }
  throw new Error(`apt has no source for the release "${codename}"`);
}

function run(program, args, cwd) {
  const result = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (result.error) throw new Error(`${program} cannot run: ${result.error.message}`);
  if (result.status !== 0) {
    const words = (result.stderr || result.stdout).trim().split("\n").at(-1);
    throw new Error(
      `${program} ${args.find((word) => /^[a-z]/.test(word)) ?? ""} failed: ${words}`,
    );
  }
}

/** The binaries find their libraries beside them, so nothing is installed into the system. */
function writeWrappers(folder) {
  mkdirSync(join(folder, "bin"), { recursive: true });
  const libraries = readdirSync(join(folder, "tree/usr/lib")).map(
    (name) => `$here/../tree/usr/lib/${name}`,
  );
  for (const [name, binary] of [
    ["valkey-server", "valkey-server"],
    ["valkey-sentinel", "valkey-server"],
    ["valkey-cli", "valkey-cli"],
  ]) {
    const file = join(folder, "bin", name);
    const role = name === "valkey-sentinel" ? " --sentinel" : "";
    writeFileSync(
      file,
      `#!/bin/sh\nhere=$(dirname "$(readlink -f "$0")")\n` +
        `export LD_LIBRARY_PATH="${libraries.join(":")}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n` +
        `exec "$here/../tree/usr/bin/${binary}" "$@"${role}\n`,
    );
    chmodSync(file, 0o755);
  }
}
