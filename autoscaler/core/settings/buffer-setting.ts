/** The scaling buffer as written: a number of pods (`3`) or a share of the demand (`25%`). */
import type { ScalingMetric } from "../../../common/contracts/annotations.ts";
import type { Found, SettingsReader } from "./reader.ts";
import type { ScalingBuffer } from "./types.ts";

const PODS_BOUNDS = [0, 1_000] as const;
const PERCENT_BOUNDS = [0, 500] as const;
const NO_BUFFER: ScalingBuffer = { kind: "pods", pods: 0 };

export function readBuffer(reader: SettingsReader, metric: ScalingMetric): ScalingBuffer {
  const found = reader.own("scaling-buffer");
  if (found === null) return NO_BUFFER;
  if (metric === "cpu" || metric === "memory") {
    reader.problems.add(
      `scaling-buffer needs metric concurrency or rps, got ${metric}`,
      found.path,
    );
    return NO_BUFFER;
  }
  const written = /^(?<amount>[+-]?\d+(?<fraction>\.\d+)?)(?<percent>%?)$/.exec(found.text)?.groups;
  const percent = written?.["percent"] ?? "";
  if (written === undefined || (percent === "" && written["fraction"] !== undefined)) {
    reader.problems.invalid(found.text, found.path);
    return NO_BUFFER;
  }
  return inBounds(reader, found, Number(written["amount"]), percent);
}

function inBounds(
  reader: SettingsReader,
  found: Found,
  value: number,
  percent: string,
): ScalingBuffer {
  const [low, high] = percent === "%" ? PERCENT_BOUNDS : PODS_BOUNDS;
  if (value < low || value > high) {
    reader.problems.add(
      `expected ${low}${percent} <= ${found.text} <= ${high}${percent}`,
      found.path,
    );
    return NO_BUFFER;
  }
  return percent === "%" ? { kind: "ratio", ratio: value / 100 } : { kind: "pods", pods: value };
}
