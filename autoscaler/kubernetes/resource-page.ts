/** The page `/metrics/resource` of a kubelet: use of each pod, one container left out. Pure. */

export interface PodUse {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** When kubelet looked, ms since the epoch; 0 where it does not say. */
  readonly at: number;
}

const LINE =
  /^container_(?<what>cpu|memory)_(?:usage_seconds_total|working_set_bytes)\{(?<labels>[^}]*)\}\s+(?<value>\S+)(?:\s+(?<at>\d+))?$/;
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
  const found = LINE.exec(line)?.groups;
  const value = Number(found?.["value"]);
  if (found === undefined || !Number.isFinite(value)) return null;
  const { namespace, pod, container = "" } = labelsOf(found["labels"] ?? "");
  const isCpu = found["what"] === "cpu";
  return {
    pod: `${namespace}/${pod}`,
    container,
    cpuSeconds: isCpu ? value : 0,
    memoryBytes: isCpu ? 0 : value,
    at: Number(found["at"] ?? 0),
  };
}

function labelsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name = "", value = ""]) => [name, value]),
  );
}
