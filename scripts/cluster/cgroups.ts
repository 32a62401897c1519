/**
 * The control groups that each kubelet works below: one root of its own per node, since two
 * kubelets in one tree remove each other's pods. Handles version 1 (a tree per controller) and 2.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { PREFIX } from "./layout.ts";

const BASE = "/sys/fs/cgroup";
/** What kubelet refuses to start without. */
const NEEDED_V1 = ["cpu", "cpuacct", "cpuset", "memory", "pids", "devices", "freezer"];
const NEEDED_V2 = ["cpu", "cpuset", "memory", "pids"];

export const cgroupOf = (node: string): string => `${PREFIX}-${node}`;

export function cgroupVersion(): 1 | 2 | undefined {
  if (existsSync(join(BASE, "cgroup.controllers"))) return 2;
  return existsSync(join(BASE, "memory")) ? 1 : undefined;
}

/** Controllers that kubelet needs and this machine does not offer. */
export function missingControllers(): readonly string[] {
  if (cgroupVersion() === 1) return NEEDED_V1.filter((name) => !existsSync(join(BASE, name)));
  const offered = readFileSync(join(BASE, "cgroup.controllers"), "utf8").trim().split(" ");
  return NEEDED_V2.filter((name) => !offered.includes(name));
}

export function makeCgroup(name: string): void {
  if (cgroupVersion() === 2) return makeV2(name);
  for (const tree of trees()) {
    const folder = join(tree, name);
    mkdirSync(folder, { recursive: true });
    // A new cpuset is empty, and nothing can run in an empty one.
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      if (existsSync(join(folder, file))) {
        writeFileSync(join(folder, file), readFileSync(join(tree, file)));
      }
    }
  }
}

function makeV2(name: string): void {
  const offered = readFileSync(join(BASE, "cgroup.controllers"), "utf8").trim().split(" ");
  const on = offered.map((controller) => `+${controller}`).join(" ");
  writeFileSync(join(BASE, "cgroup.subtree_control"), on);
  mkdirSync(join(BASE, name), { recursive: true });
  writeFileSync(join(BASE, name, "cgroup.subtree_control"), on);
}

/** Every process in any of the rig's groups: pods and their containers. */
export function processesInCgroups(): readonly number[] {
  return ownGroups().flatMap((folder) => {
    try {
      const pids = readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n");
      return pids.filter((line) => line !== "").map(Number);
    } catch {
      return [];
    }
  });
}

/** Removes the rig's groups, innermost first. A group with processes stays; returns those. */
export function removeCgroups(): readonly string[] {
  return ownGroups()
    .toReversed()
    .filter((folder) => {
      try {
        rmdirSync(folder);
        return false;
      } catch {
        return existsSync(folder);
      }
    });
}

/** Each of the rig's groups in each tree, outermost first. */
function ownGroups(): readonly string[] {
  return trees().flatMap((tree) =>
    readdirSync(tree)
      .filter((name) => name.startsWith(`${PREFIX}-`))
      .flatMap((name) => withInner(join(tree, name))),
  );
}

function withInner(folder: string): readonly string[] {
  try {
    const inner = readdirSync(folder, { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    return [folder, ...inner.flatMap(({ name }) => withInner(join(folder, name)))];
  } catch {
    return [];
  }
}

function trees(): readonly string[] {
  if (cgroupVersion() === 2) return [BASE];
  return readdirSync(BASE, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(BASE, name));
}
