/**
 * The time limits of one request (contract 2.10). A request that came through our activator is
 * watched there; here it only has a net, for an activator that stalls. All others get stock
 * Knative's three timers, counted from their arrival, waiting included.
 */
import { isGrpc, parseGrpcTimeoutMs } from "../common/contracts/grpc.ts";
import type { AttemptLimits } from "../proxy/types.ts";

export interface TimeoutSettings {
  readonly timeoutSeconds: number;
  readonly responseStartTimeoutSeconds: number;
  readonly idleTimeoutSeconds: number;
}

/** Loopback: only a full backlog of the container delays a connect. */
const CONNECT_MS = 10_000;
/** The activator's own limit comes first, so that its answer is the one the caller sees. */
const NET_MS = 5_000;
const LONGEST_RUN_MS = 12 * 3_600_000;

export function attemptLimits(
  settings: TimeoutSettings,
  kind: "container-probe" | "leased" | "foreign",
  elapsedMs: number,
  runMs = 0,
): AttemptLimits {
  // An asynchronous run may have a longer limit than the revision's own.
  const isRun = kind === "leased" && runMs > 0;
  const totalMs = isRun ? Math.min(runMs, LONGEST_RUN_MS) : settings.timeoutSeconds * 1_000;
  if (kind !== "foreign") {
    const net = totalMs === 0 ? 0 : totalMs + NET_MS;
    return { connectMs: CONNECT_MS, startMs: 0, idleMs: 0, totalMs: net };
  }
  const idleMs = settings.idleTimeoutSeconds * 1_000;
  const startMs = shorter(settings.responseStartTimeoutSeconds * 1_000, idleMs);
  return {
    connectMs: CONNECT_MS,
    startMs: rest(startMs, elapsedMs),
    idleMs,
    totalMs: rest(totalMs, elapsedMs),
  };
}

/** A gRPC caller says itself when it gives up. */
export function withCallerDeadline(
  settings: TimeoutSettings,
  marks: { readonly contentType?: string; readonly grpcTimeout?: string },
): TimeoutSettings {
  const { timeoutSeconds, responseStartTimeoutSeconds, idleTimeoutSeconds } = settings;
  if (marks.grpcTimeout === undefined || !isGrpc(marks.contentType ?? "")) return settings;
  const limitMs = parseGrpcTimeoutMs(marks.grpcTimeout);
  if (limitMs === undefined) return settings;
  return {
    timeoutSeconds: shorter(timeoutSeconds, Math.max(1, limitMs) / 1_000),
    responseStartTimeoutSeconds,
    idleTimeoutSeconds,
  };
}

/** Longest wait for a slot of a request that came another way; 0 = no limit. */
export function waitLimitMs(settings: TimeoutSettings): number {
  const start = shorter(settings.responseStartTimeoutSeconds, settings.idleTimeoutSeconds);
  return shorter(start, settings.timeoutSeconds) * 1_000;
}

/** The shorter of two limits of which 0 means none. */
function shorter(a: number, b: number): number {
  if (a === 0 || b === 0) return Math.max(a, b);
  return Math.min(a, b);
}

function rest(limitMs: number, elapsedMs: number): number {
  return limitMs === 0 ? 0 : Math.max(1, limitMs - elapsedMs);
}
