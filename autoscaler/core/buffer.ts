/** Spare pods on top of demand, so that the next request finds one. */
import { ceilPods } from "./rounding.ts";
import type { ScalingSettings } from "./settings/types.ts";

/** Pods that the buffer adds to `demandPods`. */
export function bufferPods(
  demandPods: number,
  settings: Pick<ScalingSettings, "buffer" | "bufferMode">,
): number {
  if (demandPods === 0 && settings.bufferMode === "active") return 0;
  const { buffer } = settings;
  return buffer.kind === "pods" ? buffer.pods : ceilPods(demandPods * buffer.ratio);
}
