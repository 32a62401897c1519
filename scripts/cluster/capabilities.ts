/**
 * Whether this machine can host the cluster at all. Every missing capability is named with what to
 * do about it, before anything is downloaded, built or changed.
 */
import { readFileSync, statfsSync } from "node:fs";
import { totalmem } from "node:os";
import { cgroupVersion, missingControllers } from "./cgroups.ts";
import { PREFIX, ROOT } from "./layout.ts";
import { attempt } from "./run.ts";

const GIB = 2 ** 30;
const MEMORY_GIB = 6;
const DISK_GIB = 14;

/** Returns what is missing, one sentence each; empty when a cluster can run here. */
export async function missingCapabilities(): Promise<readonly string[]> {
  if (process.platform !== "linux") return [`Linux is needed; this is ${process.platform}.`];
  if (process.arch !== "x64") return [`An x86-64 machine is needed; this is ${process.arch}.`];
  if (process.getuid?.() !== 0) {
    return ["Root is needed for network namespaces, control groups and mounts: run it with sudo."];
  }
  return [...lacksRoom(), ...lacksCgroups(), ...(await lacksNamespaces()), ...lacksOverlay()];
}

function lacksRoom(): readonly string[] {
  const memory = totalmem() / GIB;
  const { bavail, bsize } = statfsSync(ROOT);
  const disk = (bavail * bsize) / GIB;
  const missing: string[] = [];
  if (memory < MEMORY_GIB) {
    missing.push(`${MEMORY_GIB} GiB of memory are needed; this machine has ${memory.toFixed(1)}.`);
  }
  if (disk < DISK_GIB) {
    missing.push(
      `${DISK_GIB} GiB of free disk are needed; ${disk.toFixed(1)} are left in ${ROOT}.`,
    );
  }
  return missing;
}

function lacksCgroups(): readonly string[] {
  const version = cgroupVersion();
  if (version === undefined) {
    return [
      "Control groups are needed: mount them (version 2: mount -t cgroup2 none /sys/fs/cgroup).",
    ];
  }
  const missing = missingControllers();
  if (missing.length === 0) return [];
  return [`The cgroup controllers ${missing.join(", ")} are needed and not mounted (v${version}).`];
}

async function lacksNamespaces(): Promise<readonly string[]> {
  const script = `ip netns add ${PREFIX}-probe && ip netns del ${PREFIX}-probe`;
  const tried = await attempt("unshare", ["--mount", "--net", "--pid", "--fork", "true"]);
  const named = await attempt("sh", ["-c", `command -v ip >/dev/null || exit 0; ${script}`]);
  if (tried.code === 0 && named.code === 0) return [];
  const why = (tried.stderr + named.stderr).trim().split("\n").at(-1) ?? "";
  return [`Network, mount and process namespaces are needed, and making one failed: ${why}`];
}

function lacksOverlay(): readonly string[] {
  if (readFileSync("/proc/filesystems", "utf8").includes("overlay")) return [];
  return ["The overlay file system is needed: modprobe overlay."];
}
