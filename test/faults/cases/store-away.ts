/** No store for longer than calls wait: every activator serves its own pods, then all share again. */
import { defineFault } from "../rig/fault.ts";

export const storeAway = defineFault({
  name: "store away for 6 s",
  proves: "R9, degraded mode",
  store: "single",
  inject: (_world, store) => store.restartEmpty(6_000),
});
