/**
 * Takes the cluster away and leaves nothing behind, however it came to be: by `cluster:down`, by a
 * start that was cut, or after a crash. Works from what is there, not from what should be.
 */
import { existsSync, lstatSync, readFileSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { processesInCgroups, removeCgroups } from "./cgroups.ts";
import { daemonNames, endProcesses, stopDaemons } from "./daemons.ts";
import { DATA, PREFIX, RUN } from "./layout.ts";
import { ownNamespaces, removeNetwork } from "./network.ts";
import { attempt } from "./run.ts";
import { pause } from "./waiting.ts";

/** Kubelet's folder whatever its own root is: sockets for device plugins. */
const KUBELET_FOLDER = "/var/lib/kubelet";
const CONTAINER_LINKS = "/var/log/containers";

/** Returns what could not be removed; normally nothing. */
export async function takeDown(): Promise<readonly string[]> {
  await stopAll();
  for (let round = 0; round < 20 && leftProcesses().length > 0; round += 1) {
    await endProcesses(leftProcesses(), round === 0 ? 1_000 : 0);
  }
  await unmountAll();
  await removeNetwork();
  removeLinks();
  for (let round = 0; round < 50 && removeCgroups().length > 0; round += 1) await pause(50);
  for (const folder of [RUN, DATA]) rmSync(folder, { recursive: true, force: true });
  return leftovers();
}

/** Whether anything of a rig is there, running or broken. */
export function anythingThere(): boolean {
  return leftovers().length > 0;
}

/** Everything that carries the prefix, in words. */
export function leftovers(): readonly string[] {
  return [
    ...ownNamespaces().map((name) => `network namespace ${name}`),
    ...leftProcesses().map((pid) => `process ${pid}`),
    ...ownMounts().map((path) => `mount ${path}`),
    ...[RUN, DATA].filter((path) => existsSync(path)).map((path) => `folder ${path}`),
    ...removableCgroups(),
  ];
}

/** Kubelets first, so that nothing is started again; runtimes last, since the pods hang on them. */
async function stopAll(): Promise<void> {
  const names = daemonNames();
  const starting = (...prefixes: readonly string[]): readonly string[] =>
    names.filter((name) => prefixes.some((prefix) => name.startsWith(prefix)));
  await stopDaemons(starting("kubelet"));
  await stopDaemons(starting("ingress", "envoy", "registry", "kube-proxy"));
  await stopDaemons(starting("kube-", "etcd"));
  await endProcesses(processesInCgroups(), 0);
  await stopDaemons(starting("containerd"));
  await stopDaemons(names, 1_000);
}

/** Processes of pods, of the namespaces, and those whose command line names the rig's folders. */
function leftProcesses(): readonly number[] {
  const spaces = new Set(ownNamespaces().flatMap(inodeOf));
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const found = pids.map(Number).filter((pid) => pid !== process.pid && isOurs(pid, spaces));
  return [...new Set([...processesInCgroups(), ...found])];
}

function isOurs(pid: number, spaces: ReadonlySet<string>): boolean {
  try {
    if (spaces.has(readlinkSync(`/proc/${pid}/ns/net`))) return true;
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    const [program = ""] = command;
    return /containerd/.test(program) && command.some((word) => word.startsWith(`${RUN}/`));
  } catch {
    return false;
  }
}

/** A namespace's identity as the processes' own links show it. */
function inodeOf(name: string): readonly string[] {
  try {
    return [`net:[${lstatSync(`/run/netns/${name}`).ino}]`];
  } catch {
    return [];
  }
}

async function unmountAll(): Promise<void> {
  for (let round = 0; round < 5 && ownMounts().length > 0; round += 1) {
    for (const path of ownMounts().toReversed()) await attempt("umount", ["-l", path]);
  }
}

function ownMounts(): readonly string[] {
  const lines = readFileSync("/proc/self/mounts", "utf8").split("\n");
  const paths = lines.map((line) => (line.split(" ")[1] ?? "").replaceAll("\\040", " "));
  return paths.filter((path) => path.startsWith(`${DATA}/`) || path.startsWith(`${RUN}/`));
}

/** Links to container logs that kubelet makes in a place of its own choosing. */
function removeLinks(): void {
  if (existsSync(CONTAINER_LINKS)) {
    for (const name of readdirSync(CONTAINER_LINKS)) {
      const path = join(CONTAINER_LINKS, name);
      if (readlinkIfLink(path).startsWith(DATA)) rmSync(path, { force: true });
    }
  }
  const isOnlyOurs =
    existsSync(KUBELET_FOLDER) &&
    readdirSync(KUBELET_FOLDER).every((name) =>
      /^(device-plugins|plugins|plugins_registry|pod-resources)$/.test(name),
    );
  if (isOnlyOurs) rmSync(KUBELET_FOLDER, { recursive: true, force: true });
}

function readlinkIfLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function removableCgroups(): readonly string[] {
  const base = "/sys/fs/cgroup";
  const trees = [base, ...readdirSync(base).map((name) => join(base, name))];
  return trees.flatMap((tree) => {
    try {
      const own = readdirSync(tree).filter((name) => name.startsWith(`${PREFIX}-`));
      return own.map((name) => `control group ${join(tree, name)}`);
    } catch {
      return [];
    }
  });
}
