/** A new activator takes its share at once; the pods that are there serve it too. */
import { defineFault } from "../rig/fault.ts";

export const activatorAdded = defineFault({
  name: "activator added",
  proves: "R8",
  store: "single",
  inject: async (world) => {
    await world.addActivator();
    world.load.use(world.activators);
  },
});
