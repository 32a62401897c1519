/**
 * The autoscaler among several processes: revisions are spread over shards by a hash of their key,
 * each shard has a leader, and each leader a controller that looks at its own revisions only.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { LeaseCalls } from "../store/leases.ts";
import type { ClusterDefaults } from "./core/settings/defaults.ts";
import type { CellParts } from "./cell-parts.ts";
import { createAutoscaler } from "./controller.ts";
import type { Autoscaler, AutoscalerOptions } from "./controller.ts";
import { createSources } from "./led-sources.ts";
import type { Sources, SourcesLife } from "./led-sources.ts";
import { createLeadership } from "./leadership.ts";
import type { Leadership } from "./leadership.ts";
import { systemTimers } from "./timers.ts";

export interface ElectedOptions extends AutoscalerOptions {
  readonly leases: LeaseCalls;
  /** This process, unique among all that ever ran. */
  readonly holder: string;
  /** The same in all processes; default 1. */
  readonly shards?: number;
  readonly ttlMs?: number;
  /**
   * Makes the parts by which this process speaks for its cell while it leads; absent: there is one
   * cell. A service has one share in a cell, so there must be one shard.
   */
  readonly openCells?: (mayAct: () => boolean) => CellParts;
  /** Told after a shard was gained and its controller started. */
  readonly onLead?: () => void;
}

export interface ElectedAutoscaler {
  start(): void;
  /** Gives up what it leads; pods and counts stay as they are. */
  stop(): Promise<void>;
  /** Shards led at this moment, with the controllers of each. */
  led(): ReadonlyMap<number, Autoscaler>;
  /** This process decides about the revision at this moment. */
  leads(key: RevisionKey): boolean;
  /** New cluster defaults, for what is led now and later. */
  useDefaults(defaults: ClusterDefaults): void;
}

export function createElectedAutoscaler(options: ElectedOptions): ElectedAutoscaler {
  const { shards = 1, leases, holder, ttlMs, onLead, openCells, ...rest } = options;
  let { defaults } = options;
  const led = new Map<number, Autoscaler>();
  const lives: Life[] = [];
  const sources = createSources(options);
  const begin = async (shard: number, mayAct: () => boolean): Promise<void> => {
    const life = openLife(sources, openCells?.(mayAct));
    lives[shard] = life;
    const owns = (key: RevisionKey): boolean => shardOf(key, shards) === shard;
    const autoscaler = createAutoscaler({ ...rest, ...life.parts, defaults, owns, mayAct });
    led.set(shard, autoscaler);
    await autoscaler.start();
    onLead?.();
  };
  const end = async (shard: number): Promise<void> => {
    const autoscaler = led.get(shard);
    led.delete(shard);
    lives[shard]?.close();
    await autoscaler?.stop();
  };
  const leaderships = Array.from({ length: shards }, (_, shard): Leadership => {
    const leadership: Leadership = createLeadership({
      leases,
      holder,
      name: `autoscaler-${shard}-of-${shards}`,
      clock: options.clock,
      timers: options.timers ?? systemTimers,
      logger: options.logger,
      ...(ttlMs === undefined ? {} : { ttlMs }),
      onGain: () => begin(shard, () => leadership.isLeading()),
      onLoss: () => end(shard),
    });
    return leadership;
  });
  return {
    start: () => {
      for (const leadership of leaderships) leadership.start();
    },
    stop: async () => {
      await Promise.all(leaderships.map((leadership) => leadership.stop()));
    },
    led: () => led,
    leads: (key) => leaderships[shardOf(key, shards)]?.isLeading() ?? false,
    useDefaults: (next) => {
      defaults = next;
      for (const autoscaler of led.values()) autoscaler.useDefaults(next);
    },
  };
}

interface Life {
  readonly parts: Sources & Pick<AutoscalerOptions, "cellScaling">;
  close(): void;
}

function openLife(sources: { open(): SourcesLife }, cells: CellParts | undefined): Life {
  const life = sources.open();
  if (cells === undefined) return { parts: life, close: () => life.close() };
  cells.start();
  return {
    parts: { ...life, cellScaling: cells.scaling },
    close: () => {
      life.close();
      cells.close();
    },
  };
}

/** FNV-1a over the key: the same in every process and version. */
export function shardOf(key: RevisionKey, shards: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash % shards;
}
