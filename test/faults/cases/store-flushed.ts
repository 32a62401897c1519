/** Everything in the store is deleted under load, connections stay. */
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

export const storeFlushed = defineFault({
  name: "store flushed",
  proves: "I7",
  store: "single",
  inject: async (_world, { server }) => {
    await server.admin.flushall();
    await pause(1_500);
    await server.admin.flushall();
  },
});
