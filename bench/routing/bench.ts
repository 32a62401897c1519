/** What the parts of the routing bench share: the server, a store, the report, and a fleet. */
import { setTimeout as delay } from "node:timers/promises";
import type { LoadBalancingPolicy, RevisionKey } from "../../common/contracts/routing.ts";
import type { ReportBuilder } from "../../foundation/report.ts";
import type { StoreHandle } from "../../store/store.ts";
import { createStore } from "../../store/store.ts";
import { HEARTBEAT_BATCH } from "../../store/target-calls.ts";
import { pushReport, revisionConfig } from "../../test/support/routing.ts";
import type { ValkeyServer } from "../../test/support/valkey.ts";

export interface RoutingBench {
  readonly server: ValkeyServer;
  readonly store: StoreHandle;
  readonly report: ReportBuilder;
  /** Few rounds, to see that everything runs. */
  readonly quick: boolean;
}

export const PREFIX = "bench:";
/** As long as the names of a real one. */
export const ACTIVATOR = "activator-6f7c9d8b5-x2x7k.0123456789ab";
const BOOT = 1_764_459_734_123;
/** Reports on their way at once. */
const REPORTS = 256;

export function openStore(server: ValkeyServer, activatorId = ACTIVATOR): StoreHandle {
  return createStore({ url: server.url, prefix: PREFIX, activatorId, timeoutMs: 30_000 });
}

export async function configure(
  { store }: RoutingBench,
  revision: RevisionKey,
  policy: LoadBalancingPolicy = "first-available",
): Promise<void> {
  const [namespace = "", name = ""] = revision.split("/");
  await store.store.configureRevision(revisionConfig({ namespace, revision: name, policy }));
}

export const uidOf = (index: number): string =>
  `3f2c1d9e-8b7a-4c6d-9e0f-${String(index).padStart(12, "0")}`;

export interface Fleet {
  readonly revision: RevisionKey;
  readonly targets: number;
  /** Number of the first one. */
  readonly from?: number;
  readonly capacity: number;
  readonly address?: string;
  readonly port?: number;
  readonly sequence?: number;
}

/** Reports every pod of a fleet as ready, as their sidecars do when they start. */
export async function reportFleet(handle: StoreHandle, fleet: Fleet): Promise<void> {
  let next = 0;
  const reporter = async (): Promise<void> => {
    while (next < fleet.targets) {
      const index = (fleet.from ?? 0) + next;
      next += 1;
      await handle.store.reportReadiness(
        pushReport(uidOf(index), {
          revision: fleet.revision,
          podName: `echo-00001-deployment-7d9f8b6c5-${index}`,
          boot: BOOT,
          sequence: fleet.sequence ?? 1,
          capacity: fleet.capacity,
          address: fleet.address ?? "127.0.0.9",
          port: fleet.port ?? 8_012,
          marks: { spawnedAt: BOOT + 0.25, readyAt: BOOT + 767.5 },
        }),
        { card: "h100", marks: {} },
      );
    }
  };
  await Promise.all(Array.from({ length: REPORTS }, reporter));
}

export async function serverInfo(
  server: ValkeyServer,
  section: string,
  field: string,
): Promise<string> {
  const info = await server.admin.info(section);
  return new RegExp(`^${field}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "";
}

/**
 * Heartbeats of a whole fleet until the returned function is called: each pod once a second, spread
 * over it as sidecars that started at any time are.
 */
export function keepAlive(handle: StoreHandle, fleet: Fleet): () => Promise<void> {
  let sequence = (fleet.sequence ?? 1) + 1;
  let isOver = false;
  const beat = async (): Promise<void> => {
    for (let startedAt = performance.now(); !isOver; startedAt += 1_000, sequence += 1) {
      for (let from = 0; from < fleet.targets && !isOver; from += HEARTBEAT_BATCH) {
        const count = Math.min(HEARTBEAT_BATCH, fleet.targets - from);
        const beats = Array.from({ length: count }, (_, index) => {
          return { podUid: uidOf(from + index), boot: BOOT, sequence };
        });
        const dueAt = startedAt + (1_000 * from) / fleet.targets;
        await delay(Math.max(0, dueAt - performance.now()));
        await handle.store.reportHeartbeats(fleet.revision, beats);
      }
    }
  };
  const beating = beat();
  return async () => {
    isOver = true;
    await beating;
  };
}
