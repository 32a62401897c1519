/**
 * What a tick costs with many revisions: the whole controller over a real store, every revision with
 * a ready pod and work, so that none rests.
 */
import { createAutoscaler } from "../../autoscaler/controller.ts";
import { PLATFORM_DEFAULTS } from "../../autoscaler/core/settings/defaults.ts";
import { createRandom } from "../../common/random.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { systemClock } from "../../foundation/clock.ts";
import { createLogger } from "../../foundation/logger.ts";
import { createStore } from "../../store/store.ts";
import { scaledRevision, World } from "../../test/support/autoscaler-world.ts";
import { eventually } from "../../test/support/eventually.ts";
import type { ValkeyServer } from "../../test/support/valkey.ts";

const TICKS = 5;
/** Loading 10,000 memories from the store takes longer than a tick. */
const SETTLE_MS = 120_000;

export interface TickCost {
  readonly revisions: number;
  readonly medianMs: number;
  readonly worstMs: number;
  /** Processor time of the controller in a tick; what a busy machine adds to the rest is not in it. */
  readonly processorMs: number;
}

export async function measureTicks(server: ValkeyServer, revisions: number): Promise<TickCost> {
  const world = worldOf(revisions);
  const handle = createStore({ url: server.url, prefix: server.freshPrefix(), timeoutMs: 30_000 });
  await handle.ready();
  const autoscaler = createAutoscaler({
    store: handle.store,
    subscriber: handle.subscriber,
    objects: world.objects,
    scale: world.scale,
    status: world.status,
    clock: systemClock,
    random: createRandom(1),
    logger: createLogger({ name: "bench", level: "silent" }),
    defaults: PLATFORM_DEFAULTS,
  });
  try {
    await autoscaler.start();
    await settled(autoscaler);
    const tookMs: number[] = [];
    const processorMs: number[] = [];
    while (tookMs.length < TICKS) {
      await eventually(() => autoscaler.busy() > 0, { timeoutMs: SETTLE_MS, everyMs: 1 });
      const before = process.cpuUsage();
      await settled(autoscaler);
      const { user, system } = process.cpuUsage(before);
      processorMs.push((user + system) / 1_000);
      tookMs.push(autoscaler.view().totals.tickMs);
    }
    const medianMs = median(tookMs);
    return { revisions, medianMs, worstMs: Math.max(...tookMs), processorMs: median(processorMs) };
  } finally {
    await autoscaler.stop();
    await handle.close();
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function settled(autoscaler: { busy(): number }): Promise<unknown> {
  return eventually(() => autoscaler.busy() === 0, { timeoutMs: SETTLE_MS, everyMs: 1 });
}

function worldOf(revisions: number): World {
  const world = new World();
  for (let number = 1; number <= revisions; number += 1) {
    const revision = `load-${number}`;
    const key: RevisionKey = `bench/${revision}`;
    world.apply(
      scaledRevision({
        key,
        namespace: "bench",
        service: revision,
        revision,
        annotations: { "autoscaling.knative.dev/min-scale": "1" },
      }),
      1,
    );
    world.setPods({ phase: "ready" }, key);
  }
  return world;
}
