/** All faults, in the order in which they run. */
import { activatorAdded } from "./cases/activator-added.ts";
import { activatorKilled } from "./cases/activator-killed.ts";
import { activatorPaused } from "./cases/activator-paused.ts";
import { addressReused } from "./cases/address-reused.ts";
import { clockWrong } from "./cases/clock-wrong.ts";
import { clusterPrimaryKilled } from "./cases/cluster-primary-killed.ts";
import { connectionsLost } from "./cases/connections-lost.ts";
import { functionsFlushed } from "./cases/functions-flushed.ts";
import { networkCut } from "./cases/network-cut.ts";
import { podsFlapping } from "./cases/pods-flapping.ts";
import { podsKilled } from "./cases/pods-killed.ts";
import { primaryKilled } from "./cases/primary-killed.ts";
import { scriptBlocks } from "./cases/script-blocks.ts";
import { slotMoved } from "./cases/slot-moved.ts";
import { storeAway } from "./cases/store-away.ts";
import { storeFlushed } from "./cases/store-flushed.ts";
import { storeFrozen } from "./cases/store-frozen.ts";
import { storeFull } from "./cases/store-full.ts";
import { storeReadOnly } from "./cases/store-read-only.ts";
import { storeRestarted } from "./cases/store-restarted.ts";
import type { Fault } from "./rig/fault.ts";

export const FAULTS: readonly Fault[] = [
  functionsFlushed,
  connectionsLost,
  storeRestarted,
  storeFlushed,
  primaryKilled,
  slotMoved,
  clusterPrimaryKilled,
  scriptBlocks,
  storeFull,
  storeReadOnly,
  storeFrozen,
  storeAway,
  activatorKilled,
  activatorPaused,
  activatorAdded,
  clockWrong,
  podsKilled,
  podsFlapping,
  addressReused,
  networkCut,
];
