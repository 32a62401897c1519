/** The processes inside pods, seen from the machine: when they started, and how they are killed. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DATA, NODES } from "../../../scripts/cluster/layout.ts";
import type { Pod } from "./services.ts";
import { NAMESPACE } from "./services.ts";

const TICKS_PER_SECOND = 100;

/** Every process of a pod, the one that holds its namespaces included. */
export function processesOf({ metadata }: Pod): readonly number[] {
  const folder = `pod${metadata.uid}`;
  return allProcesses().filter((pid) => read(`/proc/${pid}/cgroup`).includes(folder));
}

/** Kills a whole pod at once, as a dying machine or an out-of-memory kill does; nobody is told. */
export function crash(pod: Pod): number {
  const pids = processesOf(pod);
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Its parent's end took it along.
    }
  }
  return pids.length;
}

/** When the queue-proxy of a pod was started, as wall-clock milliseconds, to 10 ms. */
export function sidecarStartedAt(pod: string): number | undefined {
  const pid = allProcesses().find((one) =>
    read(`/proc/${one}/environ`).split("\0").includes(`SERVING_POD=${pod}`),
  );
  if (pid === undefined) return undefined;
  const stat = read(`/proc/${pid}/stat`);
  const ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  const bootedAt = Date.now() - Number(read("/proc/uptime").split(" ")[0]) * 1000;
  return Number.isFinite(ticks) ? bootedAt + (ticks * 1000) / TICKS_PER_SECOND : undefined;
}

/** Numbers of the requests that reached the test server of these pods, from the containers' logs. */
export function deliveredTo(service: string): ReadonlySet<string> {
  return new Set(deliveriesTo(service));
}

/** The same with each delivery by itself; an event's id is its number. Pods that are gone took theirs along. */
export function deliveriesTo(service: string): readonly string[] {
  return NODES.flatMap(({ name }) => {
    const logs = join(DATA, name, "logs");
    const files = readdirSync(logs, { recursive: true, encoding: "utf8" }).filter(
      (file) => file.startsWith(`${NAMESPACE}_${service}-`) && file.endsWith(".log"),
    );
    return files.flatMap((file) =>
      [...read(join(logs, file)).matchAll(/ got (\S+)$/gm)].map(([, number = ""]) => number),
    );
  });
}

function allProcesses(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
