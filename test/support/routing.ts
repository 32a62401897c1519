/** Builders of routing inputs for store tests: short rows, all the rest with sensible values. */
import type { PushReport } from "../../common/contracts/push.ts";
import type { RevisionConfig, RevisionKey } from "../../common/contracts/routing.ts";
import type { AcquireRequest } from "../../store/types.ts";

export const REVISION: RevisionKey = "default/echo-00001";

export function revisionConfig(changes: Partial<RevisionConfig> = {}): RevisionConfig {
  return {
    namespace: "default",
    service: "echo",
    revision: "echo-00001",
    containerConcurrency: 1,
    policy: "first-available",
    queueDepth: 10_000,
    queueTimeoutMs: 900_000,
    activationTimeoutMs: 600_000,
    responseStartTimeoutMs: 0,
    idleTimeoutMs: 0,
    timeoutMs: 900_000,
    retry: "safe",
    quarantinePeriodMs: 1_000,
    quarantineMaxMs: 60_000,
    quarantineAction: "replace",
    flapThreshold: 3,
    scaleUpDelayMs: 1_000,
    queueOrder: "fifo",
    starvationLimitMs: 0,
    localQueue: 0,
    protocol: "http1",
    failure: null,
    waitingFor: "",
    startTimeMs: 0,
    ...changes,
  };
}

export function pushReport(podUid: string, changes: Partial<PushReport> = {}): PushReport {
  return {
    kind: "change",
    revision: REVISION,
    podUid,
    podName: `pod-${podUid}`,
    boot: 1,
    sequence: 1,
    state: "ready",
    reason: "",
    address: "127.0.0.9",
    port: 8012,
    capacity: 1,
    inFlight: 0,
    occupied: 0,
    reportsRunning: false,
    asked: [],
    running: [],
    build: "test",
    marks: {},
    ...changes,
  };
}

export function acquireRequest(
  leaseId: string,
  changes: Partial<AcquireRequest> = {},
): AcquireRequest {
  return {
    revision: REVISION,
    activatorId: "act-1",
    leaseId,
    exclude: [],
    arrivedAt: 0,
    mayWait: true,
    random: [0, 0],
    ...changes,
  };
}
