/**
 * What every request shares in this process: the parts that decide about it and count it, and the
 * set of those that are open. One object, made once, handed to each flow.
 */
import { ChurnList, ListEntry } from "../common/churn-list.ts";
import type { Clock } from "../common/clock.ts";
import type { Exchange } from "../proxy/types.ts";
import type { QueueProxyConfig } from "./config.ts";
import { Breaker } from "./core/breaker.ts";
import { BatchMeter, CallSamples } from "./core/call-samples.ts";
import type { DrainDecision } from "./core/drain.ts";
import { Occupancy } from "./core/occupancy.ts";
import type { ProbePlan } from "./core/probe-spec.ts";
import { Readiness } from "./core/readiness.ts";
import { RequestStats } from "./core/request-stats.ts";
import { Drainer } from "./drainer.ts";
import { LocalTick } from "./local-tick.ts";
import { RequestMetrics } from "./metrics.ts";
import { Pod } from "./pod.ts";
import type { PodIdentity } from "./pod-identity.ts";
import { tryTcp } from "./probe.ts";
import type { FlowTracing } from "./tracing.ts";
import type { RequestLog } from "./request-log.ts";

export interface DataPath {
  readonly clock: Clock;
  readonly config: QueueProxyConfig;
  readonly identity: PodIdentity;
  readonly pod: Pod;
  readonly readiness: Readiness;
  readonly breaker: Breaker;
  readonly localTick: LocalTick;
  readonly batch: BatchMeter;
  readonly samples: CallSamples;
  readonly occupancy: Occupancy;
  readonly drainer: Drainer;
  readonly stats: RequestStats;
  readonly metrics: RequestMetrics;
  /** How long a readiness probe may be kept waiting while the container starts. */
  readonly probeHoldMs: number;
  /** A request found nobody listening at the container's port. */
  readonly onContainerRefused: () => void;
  /** Whether somebody listens at the container's port. */
  readonly isContainerListening: () => Promise<boolean>;
  readonly flows: ChurnList<OpenFlow>;
  readonly requestLog: RequestLog | undefined;
  /** Set once tracing was asked for and loaded. */
  readonly tracing: { current: FlowTracing | undefined };
}

/** A request that runs or waits here. */
export abstract class OpenFlow extends ListEntry {
  abstract readonly exchange: Exchange;
  abstract readonly leaseId: string;
  /** A leased request that only waits here goes back to the activator; false when it does not wait. */
  abstract handBack(reason: "draining" | "handed_back"): boolean;
  /** Ends it because the pod's time is over. */
  abstract terminate(): void;
}

/** What the data path needs of the rest of the process, and tells it. */
export interface DataPathParts {
  readonly config: QueueProxyConfig;
  readonly clock: Clock;
  readonly identity: PodIdentity;
  readonly plan: ProbePlan;
  readonly sidecarAt: number;
  readonly isRestart: boolean;
  readonly unreachableSinceAt: () => number | undefined;
  /** Routing must hear of the pod at once. */
  readonly onChange: () => void;
  readonly onContainerRefused: () => void;
  readonly onDrainPhase: (phase: DrainDecision["phase"]) => void;
  readonly onLeave: () => void;
  readonly requestLog: RequestLog | undefined;
}

/** One look at the container's port after a broken request. */
const LOOK_MS = 500;
/** A dying process may lose its connections this much before its listener. */
const SECOND_LOOK_MS = 25;

export function createDataPath(parts: DataPathParts): DataPath {
  const { config, clock, identity, plan } = parts;
  const readiness = new Readiness({
    success: plan.successThreshold,
    failure: plan.failureThreshold,
  });
  const breaker = new Breaker(config.containerConcurrency, () => clock.now());
  const occupancy = new Occupancy();
  const flows: DataPath["flows"] = new ChurnList();
  const drainer = createDrainer(parts, flows);
  const pod = new Pod(
    {
      clock,
      readiness,
      breaker,
      occupancy,
      isRestart: parts.isRestart,
      containerConcurrency: config.containerConcurrency,
      drainPhase: () => drainer.phase,
      onChange: parts.onChange,
    },
    parts.sidecarAt,
  );
  return {
    clock,
    config,
    identity,
    pod,
    readiness,
    breaker,
    localTick: new LocalTick(breaker),
    batch: new BatchMeter(),
    samples: new CallSamples(),
    occupancy,
    drainer,
    flows,
    stats: new RequestStats(clock.now() / 1_000),
    metrics: new RequestMetrics(),
    probeHoldMs: plan.holdMs,
    requestLog: parts.requestLog,
    tracing: { current: undefined },
    onContainerRefused: parts.onContainerRefused,
    isContainerListening: () => isListening(config.userPort),
  };
}

async function isListening(port: number): Promise<boolean> {
  const first = await tryTcp("127.0.0.1", port, LOOK_MS);
  if (first.kind !== "passed") return false;
  await new Promise((resolve) => setTimeout(resolve, SECOND_LOOK_MS));
  return (await tryTcp("127.0.0.1", port, LOOK_MS)).kind === "passed";
}

function createDrainer(parts: DataPathParts, flows: ChurnList<OpenFlow>): Drainer {
  return new Drainer({
    clock: parts.clock,
    graceMs: parts.config.timeoutSeconds * 1_000,
    open: () => flows.size,
    unreachableSinceAt: parts.unreachableSinceAt,
    onPhase: parts.onDrainPhase,
    onUnconfirmed: parts.onChange,
    onTerminate: () => {
      for (const flow of flows) flow.terminate();
    },
    onLeave: parts.onLeave,
  });
}
