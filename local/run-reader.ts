/**
 * What the store of a running platform knows about scaling, read from another process: decisions,
 * start times, and arrivals recorded for a while.
 */
import { setTimeout as delay } from "node:timers/promises";
import { decodeRecords } from "../autoscaler/decision-log.ts";
import type { DecisionRecord } from "../autoscaler/decision-log.ts";
import type { RunRecord as AsyncRun, ServiceKey } from "../common/contracts/async-runs.ts";
import type { RunRecord } from "../common/contracts/local-run.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { RevisionKnowledge } from "../common/hexgen/knowledge.ts";
import { parseKnowledge } from "../common/hexgen/knowledge.ts";
import { createRunStore } from "../store/run-calls.ts";
import { DEFAULT_PREFIX, createStore } from "../store/store.ts";
import type { RoutingStore, StoreEvent } from "../store/types.ts";
import { readServiceFile } from "./service-files.ts";
import { withLiveKeys } from "./settings-check.ts";

export interface RunReader {
  /** News of the last hour, oldest first. */
  decisions(key: RevisionKey): Promise<readonly DecisionRecord[]>;
  /** What was learnt of cards and alpha; undefined where calls are not ranked. */
  knowledge(key: RevisionKey): Promise<RevisionKnowledge | undefined>;
  /** From the decision to the first dispatch of recent starts, in ms. */
  startTimes(key: RevisionKey): Promise<readonly number[]>;
  /** Switches the event log on for this long, or until aborted, and answers what it holds. */
  record(key: RevisionKey, durationMs: number, signal: AbortSignal): Promise<Recording>;
  /** Asynchronous runs of a service, newest first. */
  runs(service: ServiceKey, most: number): Promise<readonly AsyncRun[]>;
  /** One of them, and its answer where it is kept. */
  run(service: ServiceKey, id: string): Promise<AsyncRun | null>;
  answer(service: ServiceKey, id: string): Promise<Buffer>;
  close(): Promise<void>;
}

export interface Recording {
  /** Time of the store at the start, us. */
  readonly sinceUs: number;
  readonly events: readonly StoreEvent[];
}

const MOST_STARTS = 100;

export async function openRunReader(run: RunRecord): Promise<RunReader> {
  const prefix = run.storePrefix === undefined ? {} : { prefix: run.storePrefix };
  const handle = createStore({ url: run.storeUrl, ...prefix });
  try {
    await handle.ready();
  } catch (error) {
    await handle.close();
    throw error;
  }
  const { store } = handle;
  const runs = createRunStore({
    url: run.storeUrl,
    prefix: run.storePrefix ?? DEFAULT_PREFIX,
    replicas: 0,
  });
  return {
    decisions: async (key) => decodeRecords(await store.readDecisions(key), key),
    knowledge: async (key) => parseKnowledge(await handle.knowledge.readKnowledge(key)),
    startTimes: async (key) => {
      const records = await store.readColdStarts(key, MOST_STARTS);
      return records
        .map(({ dispatchedAt, requestAt }) => dispatchedAt - requestAt)
        .filter((time) => time > 0);
    },
    record: (key, durationMs, signal) => record(store, { key, durationMs, signal }),
    runs: (service, most) => runs.list(service, most),
    run: (service, id) => runs.read(service, id),
    answer: (service, id) => runs.readPayload(service, id),
    close: async () => {
      runs.close();
      await handle.close();
    },
  };
}

async function record(
  store: RoutingStore,
  given: { readonly key: RevisionKey; readonly durationMs: number; readonly signal: AbortSignal },
): Promise<Recording> {
  const { key, durationMs, signal } = given;
  const { at } = await store.readFigures(key, { record: false });
  await store.recordEvents(key, true);
  try {
    // Cut short: what was recorded so far is good.
    await delay(durationMs, undefined, { signal }).catch(() => undefined);
    return { sinceUs: at, events: await store.readEvents(key) };
  } finally {
    await store.recordEvents(key, false);
  }
}

/** Annotations of a service as its file has them now, live keys laid over. */
export async function serviceAnnotations(
  file: string,
  key: string,
): Promise<Readonly<Record<string, string>>> {
  const { services } = await readServiceFile(file, process.env);
  const service = services.find((candidate) => candidate.key === key);
  return service === undefined ? {} : withLiveKeys(service.annotations, service.template);
}
