/** What a platform stands on: store, ports, a container engine, its folder, a cluster; and one that runs. */
import { execFile } from "node:child_process";
import { access, constants, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { errorText } from "../../common/errors.ts";
import { isFree } from "../../local/addresses.ts";
import { findContainerEngine } from "../../local/container-engine.ts";
import { DEFAULT_PORT } from "../../local/defaults.ts";
import { findStoreServer } from "../../local/valkey.ts";
import { readSnapshot } from "../control-client.ts";
import { findRun } from "../run-client.ts";
import { ill, well } from "./check.ts";
import type { DoctorContext, Finding } from "./check.ts";

const run = promisify(execFile);
const ASK_TIMEOUT_MS = 5_000;
const MIN_VALKEY = 8;
const MIB = 1_048_576;
const MIN_DISK_BYTES = 200 * MIB;

export async function checkStore({ env }: DoctorContext): Promise<Finding> {
  const external = env["VALKEY_URL"] ?? "";
  if (external !== "") return well("store", "an external server, named by VALKEY_URL");
  try {
    const { path } = await findStoreServer(env);
    const { stdout } = await run(path, ["--version"], { timeout: ASK_TIMEOUT_MS });
    return judgeStore(path, stdout);
  } catch (error) {
    const cure =
      "Install valkey-server 8 or newer, set PILOTLIGHT_VALKEY to its path, or start by " +
      "`npx pilotlight`, which brings one on Debian and Ubuntu.";
    return ill("store", "fail", errorText(error).split("\n")[0] ?? "", cure);
  }
}

/** From `Valkey server v=8.0.1 sha=...`. */
export function judgeStore(path: string, versionText: string): Finding {
  const version = /\bv=(\d+)(\.[\d.]+)?/.exec(versionText);
  const shown = `${path}, ${version?.[0].slice(2) ?? "of an unknown version"}`;
  if (!versionText.startsWith("Valkey")) {
    return ill("store", "warn", `${shown} (Redis)`, "It works as a fall-back; install Valkey 8.");
  }
  if (Number(version?.[1] ?? 0) >= MIN_VALKEY) return well("store", `Valkey ${shown}`);
  return ill("store", "fail", `Valkey ${shown}`, `Install Valkey ${MIN_VALKEY} or newer.`);
}

export async function checkPorts({ runFolder }: DoctorContext): Promise<Finding> {
  const ports = [DEFAULT_PORT, DEFAULT_PORT + 1];
  const free = await Promise.all(ports.map((port) => isFree("127.0.0.1", port)));
  const taken = ports.filter((_port, index) => free[index] === false);
  if (taken.length === 0) return well("ports", `${ports.join(" and ")} are free`);
  const own = await findRun(runFolder);
  const urls = [own?.ingressUrl, own?.dashboardUrl];
  if (taken.every((port) => urls.some((url) => url?.endsWith(`:${port}`)))) {
    return well("ports", `${taken.join(" and ")}: used by the platform that runs here`);
  }
  const cure = "Stop what listens there, or choose others: pilotlight up FILE --port 9000.";
  return ill("ports", "warn", `in use: ${taken.join(", ")}`, cure);
}

export async function checkEngine(): Promise<Finding> {
  const { engine, why } = await findContainerEngine();
  if (engine !== null) return well("containers", `${engine} answers`);
  const cure =
    "Needed only for services without a command on this machine: give those the annotation " +
    "pilotlight.dev/local-command, or start an engine.";
  return ill("containers", "warn", why, cure);
}

/** The nearest folder that is there must be writable, with some room for logs. */
export async function checkFolder({ runFolder }: DoctorContext): Promise<Finding> {
  let folder = runFolder;
  while ((await stat(folder).catch(() => null)) === null) folder = dirname(folder);
  try {
    await access(folder, constants.W_OK | constants.X_OK);
  } catch {
    const cure = "Work in a folder of your own, or name one: --run-folder FOLDER.";
    return ill("folder", "fail", `cannot write in ${folder}`, cure);
  }
  const { bavail, bsize } = await statfs(folder);
  const text = `${runFolder}, ${Math.round((bavail * bsize) / MIB)} MiB free`;
  if (bavail * bsize >= MIN_DISK_BYTES) return well("folder", text);
  return ill("folder", "warn", text, "Make room, or name a folder elsewhere: --run-folder FOLDER.");
}

/** The current context, read from its file; nothing is sent to the cluster. */
export async function checkCluster({ env }: DoctorContext): Promise<Finding> {
  try {
    const { stdout } = await run("kubectl", ["config", "current-context"], {
      timeout: ASK_TIMEOUT_MS,
      env: { ...env },
    });
    return well("cluster", `kubectl would use the context ${stdout.trim()}`);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const text = isMissing ? "kubectl is not installed" : "kubectl has no current context";
    return well("cluster", `${text}; local mode needs none`);
  }
}

export async function checkRunning({ runFolder }: DoctorContext): Promise<Finding> {
  const record = await findRun(runFolder);
  if (record === null) return well("platform", `none runs in ${runFolder}`);
  const place = `process ${record.pid}, ${record.ingressUrl}`;
  try {
    const { store, activators, services } = await readSnapshot({ folder: runFolder, run: record });
    const ready = activators.filter(({ state }) => state === "ready").length;
    const text = `${place}, ${services.length} services, ${ready} of ${activators.length} activators`;
    if (store.state !== "ready") {
      return ill("platform", "fail", `${text}; store: ${store.reason}`, "pilotlight logs valkey");
    }
    if (ready === activators.length) return well("platform", text);
    return ill("platform", "warn", text, "pilotlight logs activator-1");
  } catch (error) {
    return ill("platform", "fail", `${place}: ${errorText(error)}`, "pilotlight logs platform");
  }
}
