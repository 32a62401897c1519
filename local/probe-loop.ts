/** Repeats a probe at its period and counts towards its thresholds, like the kubelet's worker. */
import type { Probe } from "./service-types.ts";

/** Where the file names no period: finer than the kubelet's 10 s, since nothing is remote here. */
const DEFAULT_PERIOD_MS = 1_000;
const FIRST_SUCCESS_PERIOD_MS = 100;

export interface ProbeLoopOptions {
  readonly probe: Probe;
  /** One try; an empty text is a pass. */
  readonly attempt: (timeoutMs: number) => Promise<string>;
  /** Each time that the thresholds turn the verdict, and first when it is known. */
  readonly onVerdict: (verdict: "passed" | "failed", reason: string) => void;
}

export interface ProbeLoop {
  stop(): void;
}

export function startProbeLoop({ probe, attempt, onVerdict }: ProbeLoopOptions): ProbeLoop {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let successes = 0;
  let failures = 0;
  let verdict: "passed" | "failed" | undefined;

  const turn = (to: "passed" | "failed", reason: string): void => {
    if (verdict === to) return;
    verdict = to;
    onVerdict(to, reason);
  };
  const count = (reason: string): void => {
    successes = reason === "" ? successes + 1 : 0;
    failures = reason === "" ? 0 : failures + 1;
    if (successes >= probe.successThreshold) turn("passed", "");
    else if (failures >= (probe.failureThreshold || 3)) turn("failed", reason);
  };
  const periodMs = (): number => {
    if (probe.periodSeconds > 0) return probe.periodSeconds * 1000;
    return verdict === "passed" ? DEFAULT_PERIOD_MS : FIRST_SUCCESS_PERIOD_MS;
  };
  const round = async (): Promise<void> => {
    const reason = await attempt(Math.max(1, probe.timeoutSeconds) * 1000);
    if (stopped) return;
    count(reason);
    // `onVerdict` may have stopped the loop.
    if (!stopped) timer = setTimeout(() => void round(), periodMs());
  };
  timer = setTimeout(() => void round(), probe.initialDelaySeconds * 1000);
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
