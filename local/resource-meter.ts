/**
 * CPU and memory of local pods in % of what they ask for: what a kubelet would report, read from
 * `/proc` over all processes of the container's group.
 */
import { readFile, readdir } from "node:fs/promises";
import type { ResourceUseSource } from "../autoscaler/ports.ts";
import type { Clock } from "../common/clock.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";

/** The kernel's unit of CPU time in `/proc`, fixed at 100 per second for user space. */
const MS_PER_TICK = 10;
const BYTES_PER_PAGE = 4_096;
/** Fields of `/proc/PID/stat`, counted from the one after the name in brackets. */
const STAT = { group: 2, userTicks: 11, systemTicks: 12, residentPages: 21 } as const;

export interface MeteredPod {
  readonly uid: string;
  /** Process group of the container; 0 while it does not run. */
  readonly groupId: number;
  /** `null` where the file asks for nothing: then there is nothing to be a share of. */
  readonly cpuCores: number | null;
  readonly memoryBytes: number | null;
}

export interface GroupUse {
  readonly cpuMs: number;
  readonly memoryBytes: number;
}

interface Sample extends GroupUse {
  readonly at: number;
}

export interface ResourceMeterOptions {
  readonly clock: Clock;
  /** The ready pods of a revision. */
  readonly pods: (key: RevisionKey) => readonly MeteredPod[];
  readonly readGroups?: () => Promise<ReadonlyMap<number, GroupUse>>;
}

export function createResourceMeter(options: ResourceMeterOptions): ResourceUseSource {
  const { clock, pods, readGroups = readProcessGroups } = options;
  const samples = new Map<string, Sample[]>();

  const note = (pod: MeteredPod, use: GroupUse, windowMs: number): readonly Sample[] => {
    const at = clock.now();
    const kept = (samples.get(pod.uid) ?? []).filter((sample) => sample.at > at - windowMs);
    kept.push({ at, ...use });
    samples.set(pod.uid, kept);
    return kept;
  };
  return {
    meanPercent: async (key, metric, windowMs) => {
      const groups = await readGroups();
      const percents = pods(key).flatMap((pod) => {
        const use = groups.get(pod.groupId);
        if (use === undefined) return [];
        const history = note(pod, use, windowMs);
        const share = metric === "cpu" ? cpuShare(pod, history) : memoryShare(pod, history);
        return share === null ? [] : [share * 100];
      });
      dropOld(samples, clock.now() - windowMs);
      return percents.length === 0 ? null : mean(percents);
    },
  };
}

function cpuShare(pod: MeteredPod, history: readonly Sample[]): number | null {
  const [first, last] = [history[0], history.at(-1)];
  if (first === undefined || last === undefined || last.at <= first.at) return null;
  if (pod.cpuCores === null || pod.cpuCores === 0) return null;
  // A process that ended takes its time out of the sum.
  const usedMs = Math.max(0, last.cpuMs - first.cpuMs);
  return usedMs / (last.at - first.at) / pod.cpuCores;
}

function memoryShare(pod: MeteredPod, history: readonly Sample[]): number | null {
  if (pod.memoryBytes === null || pod.memoryBytes === 0) return null;
  return mean(history.map((sample) => sample.memoryBytes)) / pod.memoryBytes;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Pods that are gone give no more samples. */
function dropOld(samples: Map<string, Sample[]>, before: number): void {
  for (const [uid, history] of samples) {
    if ((history.at(-1)?.at ?? 0) < before) samples.delete(uid);
  }
}

/** CPU time and resident memory by process group. */
export async function readProcessGroups(): Promise<ReadonlyMap<number, GroupUse>> {
  const groups = new Map<number, GroupUse>();
  const pids = (await readdir("/proc").catch((): string[] => [])).filter((name) =>
    /^\d+$/.test(name),
  );
  for (const pid of pids) {
    const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const field = (index: number): number => Number(fields[index] ?? 0);
    const before = groups.get(field(STAT.group)) ?? { cpuMs: 0, memoryBytes: 0 };
    groups.set(field(STAT.group), {
      cpuMs: before.cpuMs + (field(STAT.userTicks) + field(STAT.systemTicks)) * MS_PER_TICK,
      memoryBytes: before.memoryBytes + field(STAT.residentPages) * BYTES_PER_PAGE,
    });
  }
  return groups;
}
