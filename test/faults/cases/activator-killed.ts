/** An activator dies with what it held; the others find its slots free when its lease is over. */
import { defineFault } from "../rig/fault.ts";

export const activatorKilled = defineFault({
  name: "activator killed",
  proves: "R13, I8",
  store: "single",
  inject: async (world) => {
    const [, victim] = world.activators;
    if (victim !== undefined) await world.killActivator(victim);
  },
  // Its lease of 3 s must end, and be asked about.
  afterMs: 6_000,
});
