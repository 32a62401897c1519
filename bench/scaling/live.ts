/**
 * One recorded run of the local platform, and the same run in the simulator: arrivals and ends from
 * the event log, start times of the pods, instants of the ticks and of the platform's word about its
 * pods as they were. Every decision, wake and slot is the simulator's own.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { DecisionRecord } from "../../autoscaler/decision-log.ts";
import { readSettings } from "../../autoscaler/core/settings/settings.ts";
import { arrivalsFromLog } from "../../autoscaler/simulator/scaling/recording.ts";
import { simulateScaling } from "../../autoscaler/simulator/scaling/simulate.ts";
import type { Arrival } from "../../autoscaler/simulator/scaling/types.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { createLogger } from "../../foundation/logger.ts";
import { startPlatform } from "../../local/main.ts";
import type { Platform } from "../../local/main.ts";
import { LOCAL_DEFAULTS } from "../../local/settings-check.ts";
import type { StoreEvent } from "../../store/types.ts";
import { callService } from "../../test/support/call-service.ts";
import { eventually } from "../../test/support/eventually.ts";

const APP = fileURLToPath(new URL("../../test/fixtures/local/app.mjs", import.meta.url));
const KEY: RevisionKey = "default/replay-00001";
const HOST = "replay.default.localhost";
const NEVER_READY_MS = 3_600_000;
const ANNOTATIONS = {
  "autoscaling.knative.dev/initial-scale": "0",
  "autoscaling.knative.dev/max-scale": "4",
  "autoscaling.knative.dev/window": "6s",
  "pilotlight.dev/cooldown": "4s",
};

/** `[ms after the start, requests at once, ms of work]`: from zero, out, a pause, in between, back. */
export const PLAN = [
  [0, 2, 1_500],
  [4_500, 1, 600],
  [7_000, 6, 1_400],
  [13_000, 3, 2_500],
  [17_000, 1, 900],
  [31_000, 3, 1_200],
] as const;

export interface LiveRun {
  readonly arrivals: readonly Arrival[];
  readonly startsInOrderMs: readonly number[];
  /** Pods wanted after each tick, `[ms, pods]`. */
  readonly ticks: readonly (readonly [atMs: number, pods: number])[];
  /** When the platform told of a change of its pods. */
  readonly podChangesAtMs: readonly number[];
  readonly failed: number;
}

export interface ReplayedTick {
  readonly atMs: number;
  readonly live: number;
  readonly simulated: number;
}

export function replay(run: LiveRun): readonly ReplayedTick[] {
  const { settings } = readSettings(
    { annotations: ANNOTATIONS, containerConcurrency: 1, requestsGpu: false },
    LOCAL_DEFAULTS,
  );
  const { arrivals, startsInOrderMs, podChangesAtMs, ticks } = run;
  const ticksAtMs = ticks.map(([atMs]) => atMs);
  const result = simulateScaling({
    settings,
    defaults: LOCAL_DEFAULTS,
    arrivals,
    startsInOrderMs,
    startTimesMs: [],
    ticksAtMs,
    podChangesAtMs,
    seed: 1,
    horizonMs: (ticksAtMs.at(-1) ?? 0) + 1,
  });
  return ticks.map(([atMs, live], index) => ({
    atMs: Math.round(atMs),
    live,
    simulated: result.ticks[index]?.[1] ?? -1,
  }));
}

/** Starts a platform of its own, drives the plan, and waits until the service is at zero again. */
export async function recordLiveRun(): Promise<LiveRun> {
  const folder = await mkdtemp(join(tmpdir(), "pilotlight-replay-"));
  await writeFile(join(folder, "replay.yaml"), serviceFile());
  const platform = await startPlatform({
    files: [folder],
    port: 0,
    runFolder: join(folder, "run"),
    logger: createLogger({ name: "bench", level: "silent" }),
  });
  try {
    return await drive(platform);
  } finally {
    await platform.stop(0);
    await rm(folder, { recursive: true, force: true });
  }
}

async function drive(platform: Platform): Promise<LiveRun> {
  const records: DecisionRecord[] = [];
  await eventually(() => platform.scaling.decisions(KEY).length > 0, { timeoutMs: 20_000 });
  await platform.routing.recordEvents(KEY, true);
  platform.scaling.onDecision((record) => void (record.key === KEY && records.push(record)));
  // The first tick of the recording is time zero for both.
  await eventually(() => records.length > 0, { timeoutMs: 15_000 });
  const statuses = await Promise.all(PLAN.map((step) => sendStep(platform, step)));
  const isOver = (): boolean => records.at(-1)?.to === 0 && records.at(-1)?.explanation.want === 0;
  await eventually(isOver, { timeoutMs: 60_000 });
  const log = await platform.routing.readEvents(KEY);
  const startUs = (records[0]?.at ?? 0) * 1_000;
  return {
    arrivals: arrivalsFromLog(log, startUs),
    startsInOrderMs: startTimes(records, log),
    ticks: records
      .filter(({ trigger }) => trigger === "tick")
      .map(({ at, to }) => [at - startUs / 1_000, to] as const),
    podChangesAtMs: records
      .filter(({ trigger }) => trigger === "pods")
      .map(({ at }) => at - startUs / 1_000),
    failed: statuses.flat().filter((status) => status !== 200).length,
  };
}

async function sendStep(
  platform: Platform,
  [afterMs, count, workMs]: (typeof PLAN)[number],
): Promise<readonly number[]> {
  await delay(afterMs);
  const path = `/?ms=${workMs}`;
  const calls = Array.from({ length: count }, () =>
    callService(platform.urls.ingress, HOST, { path }).then(({ status }) => status),
  );
  return Promise.all(calls);
}

/** From the decision that asked for a pod to its readiness in the store, in order of the decisions. */
function startTimes(records: readonly DecisionRecord[], log: readonly StoreEvent[]): number[] {
  const readyAt = new Map<string, number>();
  for (const { at, target, state } of log) {
    if (state === "ready" && !readyAt.has(target)) readyAt.set(target, at / 1_000);
  }
  // First readiness comes in the order of creation, but for pods of one decision, which are alike.
  const instants = [...readyAt.values()].toSorted((left, right) => left - right);
  const asked = records.flatMap(({ at, from, to }) =>
    Array.from({ length: Math.max(0, to - from) }, () => at),
  );
  return asked.map((at, index) => (instants[index] ?? at + NEVER_READY_MS) - at);
}

function serviceFile(): string {
  const annotations = { ...ANNOTATIONS, "pilotlight.dev/local-command": `node ${APP}` };
  return JSON.stringify({
    apiVersion: "serving.knative.dev/v1",
    kind: "Service",
    metadata: { name: "replay" },
    spec: {
      template: {
        metadata: { annotations },
        spec: { containerConcurrency: 1, containers: [{ image: "example.com/replay" }] },
      },
    },
  });
}
