/**
 * Was there an earlier life of this sidecar in the same pod? A restarted sidecar must not offer
 * slots that its predecessor's requests still use. The note lies in the pod's shared memory, the
 * only writable place that outlives a container and not the pod.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Life {
  /** Larger than that of every earlier life, also when the clock was set back. */
  readonly boot: number;
  readonly isRestart: boolean;
}

export function beginLife(podRoot: string, nowMs: number): Life {
  const folder = join(podRoot, "dev/shm");
  const path = join(folder, "pilotlight-boot");
  const earlier = readNumber(path);
  const boot = Math.max(Math.floor(nowMs), earlier + 1);
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, String(boot));
  } catch {
    // Without the note a restart is not recognised; the activator's record still orders the lives.
  }
  return { boot, isRestart: earlier > 0 };
}

function readNumber(path: string): number {
  try {
    const number = Number(readFileSync(path, "utf8"));
    return Number.isSafeInteger(number) && number > 0 ? number : 0;
  } catch {
    return 0;
  }
}
