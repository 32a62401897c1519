/** The store is killed and comes back at once with nothing in it. */
import { defineFault } from "../rig/fault.ts";

export const storeRestarted = defineFault({
  name: "store restarted empty",
  proves: "I7",
  store: "single",
  inject: (_world, store) => store.restartEmpty(300),
});
