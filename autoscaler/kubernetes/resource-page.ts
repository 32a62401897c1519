/** The page `/metrics/resource` of a kubelet: use of each pod, one container left out. Pure. */

export interface PodUse {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** When kubelet looked, ms since the epoch; 0 where it does not say. */
  readonly at: number;
}

const LINE =
  /^container_(cpu_usage_seconds_total|memory_working_set_bytes)\{([^}]*)\}\s+(\S+)(?:\s+(\d+))?$/;
const LABEL = /(\w+)="([^"]*)"/g;

/** By `namespace/name` of the pod. */
export function parseResourcePage(text: string, leftOut: string): ReadonlyMap<string, PodUse> {
  const pods = new Map<string, PodUse>();
  for (const line of text.split("\n")) {
    const figure = parseLine(line);
    if (figure === null || figure.container === leftOut) continue;
    const before = pods.get(figure.pod) ?? { cpuSeconds: 0, memoryBytes: 0, at: 0 };
    pods.set(figure.pod, {
      cpuSeconds: before.cpuSeconds + figure.cpuSeconds,
      memoryBytes: before.memoryBytes + figure.memoryBytes,
      at: Math.max(before.at, figure.at),
    });
  }
  return pods;
}

interface Figure extends PodUse {
  readonly pod: string;
  readonly container: string;
}

/** `null` for a line of something else. */
function parseLine(line: string): Figure | null {
  const [, what = "", labels = "", value = "", at = "0"] = LINE.exec(line) ?? [];
  const number = Number(value);
  if (what === "" || !Number.isFinite(number)) return null;
  const { namespace = "", pod = "", container = "" } = labelsOf(labels);
  const isCpu = what.startsWith("cpu");
  return {
    pod: `${namespace}/${pod}`,
    container,
    cpuSeconds: isCpu ? number : 0,
    memoryBytes: isCpu ? 0 : number,
    at: Number(at),
  };
}

function labelsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name = "", value = ""]) => [name, value]),
  );
}
