/** What a fault is, and how one is run: warm up, do the fault, load on, settle, count. */
import { eventually } from "../../support/eventually.ts";
import { ACTIVATORS, PODS, RATE } from "./settings.ts";
import type { Tally } from "./ledger.ts";
import { startStore } from "./stores.ts";
import type { StoreKind, Stores } from "./stores.ts";
import { pause, World } from "./world.ts";

export interface Fault {
  readonly name: string;
  /** Requirements, field reports and design rules that it stands for. */
  readonly proves: string;
  run(): Promise<Outcome>;
}

export interface FaultSpec<Kind extends StoreKind> {
  readonly name: string;
  readonly proves: string;
  readonly store: Kind;
  readonly pods?: number;
  /** Starts the activators in place of the usual ones. */
  readonly activators?: (world: World) => Promise<void>;
  /** Does the fault and ends it; what is counted as recovery begins when this resolves. */
  readonly inject: (world: World, store: Stores[Kind]) => Promise<void>;
  /** Load after the fault. */
  readonly afterMs?: number;
}

export interface Outcome extends Tally {
  readonly fault: string;
  readonly idleBesideWaitingMsMax: number;
  readonly recoveredAfterMs: number;
  /** Slots, places or pods that did not come back, or requests that another service saw: 0. */
  readonly leaked: number;
  /** The same in words. */
  readonly leftovers: readonly string[];
}

/** Longest wait for processes that have just started to be as quick as they can be. */
const WARM_MS = 15_000;
/** So many requests without a delay, and the load counts as calm. */
const CALM = 20;
const AFTER_MS = 3_500;

export function defineFault<Kind extends StoreKind>(spec: FaultSpec<Kind>): Fault {
  return { name: spec.name, proves: spec.proves, run: () => runFault(spec) };
}

async function runFault<Kind extends StoreKind>(spec: FaultSpec<Kind>): Promise<Outcome> {
  const started = await startStore(spec.store);
  const world = new World(started.url);
  try {
    await world.configure();
    if (spec.activators !== undefined) await spec.activators(world);
    else await Promise.all(Array.from({ length: ACTIVATORS }, () => world.addActivator()));
    await Promise.all(Array.from({ length: spec.pods ?? PODS }, () => world.addPod()));
    await world.allReady();
    world.load.use(world.activators);
    world.load.start(RATE);
    const calm = eventually(() => world.ledger.isCalm(CALM), { timeoutMs: WARM_MS, everyMs: 20 });
    // A machine with much other work is never calm: delays say little then, all else holds.
    await calm.catch(() => undefined);
    world.ledger.begin();
    await spec.inject(world, started.store);
    const endedAt = performance.now();
    await pause(spec.afterMs ?? AFTER_MS);
    world.load.stop();
    const leftovers = await world.settled();
    const idle = await world.idleBesideWaiting();
    if (idle.entries === 0) throw new Error("the event log of the store is empty");
    return {
      fault: spec.name,
      ...world.ledger.tally(world.killed),
      idleBesideWaitingMsMax: Math.round(idle.longestMs),
      recoveredAfterMs: world.ledger.recoveredAfterMs(endedAt),
      leaked: (leftovers.length > 0 ? 1 : 0) + world.ledger.strays,
      leftovers,
    };
  } finally {
    await world.close();
    await started.stop();
  }
}
