/**
 * How often the start of each pod has failed in the same way. A pod object shows only its present
 * state, so the turns are counted as they pass; a pod that was ready begins anew.
 */
import type { ScaledPod } from "../ports.ts";
import { isReady, wasReady } from "./pod-facts.ts";
import type { ContainerStatus, Pod } from "./objects.ts";

type Failure = NonNullable<ScaledPod["failure"]>;

interface Counted {
  readonly failure: Failure;
  /** Changes at each new failure of a kind that the object shows one by one. */
  readonly turn: string;
  readonly since: number;
}

/** What one look at a pod shows. */
interface Seen {
  readonly reason: string;
  readonly message: string;
  readonly turn: string;
  /** Failures that the object itself counts. */
  readonly atLeast: number;
}

/** Kubelet's time between two attempts that leave no trace. */
const SILENT_RETRY_MS = 10_000;
const IMAGE_PULL = "ImagePullBackOff";
/** Its pauses between pulls are 10, 20, 40 s and so on: by then the third has failed. */
const THIRD_PULL_MS = 60_000;

/** Both words alternate for one fault: the attempt, and the pause after it. */
const PULL_REASONS = ["ErrImagePull", IMAGE_PULL, "RegistryUnavailable", "ImageInspectError"];
const SILENT_REASONS = [
  "InvalidImageName",
  "ErrImageNeverPull",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "PreStartHookError",
  "PostStartHookError",
];

export class StartFailures {
  readonly #counted = new Map<string, Counted>();

  /** At each change of a pod object. */
  note(pod: Pod, now: number): void {
    const uid = pod.metadata.uid ?? "";
    if (isReady(pod)) return void this.#counted.delete(uid);
    const seen = failureShown(pod);
    if (seen === null) return;
    const before = this.#counted.get(uid);
    const isSameKind = before?.failure.reason === seen.reason;
    const known = isSameKind ? before.failure.count : 0;
    const isNew = !isSameKind || (seen.turn !== before.turn && isAttempt(seen));
    const count = Math.max(seen.atLeast, isNew ? known + 1 : known);
    const { reason, message, turn } = seen;
    const since = isSameKind ? before.since : now;
    this.#counted.set(uid, { failure: { reason, message, count }, turn, since });
  }

  forget(uid: string): void {
    this.#counted.delete(uid);
  }

  of(pod: Pod, now: number): Failure | null {
    const counted = this.#counted.get(pod.metadata.uid ?? "");
    if (counted === undefined) return null;
    const { failure, since } = counted;
    return { ...failure, count: Math.max(failure.count, countByTime(failure.reason, now - since)) };
  }
}

/** Attempts that the object does not show, or that passed between two looks. */
function countByTime(reason: string, lastedMs: number): number {
  if (reason === IMAGE_PULL) return lastedMs >= THIRD_PULL_MS ? 3 : 1;
  if (!SILENT_REASONS.includes(reason)) return 1;
  return 1 + Math.floor(Math.max(0, lastedMs) / SILENT_RETRY_MS);
}

/** The pause after an attempt is no failure of its own. */
function isAttempt(seen: Seen): boolean {
  return seen.turn !== IMAGE_PULL;
}

function failureShown(pod: Pod): Seen | null {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  for (const status of [...initContainerStatuses, ...containerStatuses]) {
    const seen = containerFailure(status, wasReady(pod) ? "served" : "new");
    if (seen !== null) return seen;
  }
  return null;
}

function containerFailure(status: ContainerStatus, life: "new" | "served"): Seen | null {
  const { reason = "", message = reason } = status.state?.waiting ?? {};
  if (PULL_REASONS.includes(reason)) {
    return { reason: IMAGE_PULL, message, turn: reason, atLeast: 1 };
  }
  if (SILENT_REASONS.includes(reason)) return { reason, message, turn: reason, atLeast: 1 };
  return reason === "CrashLoopBackOff" ? crashLoop(status, life) : null;
}

function crashLoop(status: ContainerStatus, life: "new" | "served"): Seen {
  const { name = "a container", restartCount = 0 } = status;
  return {
    reason: "CrashLoopBackOff",
    message: `${name} ends at each start: ${lastWords(status)}`,
    turn: `restart ${restartCount}`,
    // One that served before has a history that says nothing of this start.
    atLeast: life === "served" ? 1 : restartCount + 1,
  };
}

function lastWords({ lastState, state }: ContainerStatus): string {
  const ended = lastState?.terminated ?? state?.terminated;
  const { reason = "it ended", exitCode, message = "" } = ended ?? {};
  const code = exitCode === undefined ? "" : ` (exit code ${exitCode})`;
  return `${reason}${code}${message === "" ? "" : `: ${message.trim().slice(-200)}`}`;
}
