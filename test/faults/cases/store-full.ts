/** The store has no memory left and evicts nothing: it refuses every script. */
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

export const storeFull = defineFault({
  name: "store out of memory",
  proves: "issue 4, item 5",
  store: "single",
  inject: async (_world, { server }) => {
    await server.admin.config("SET", "maxmemory-policy", "noeviction");
    await server.admin.config("SET", "maxmemory", "1");
    await pause(4_000);
    await server.admin.config("SET", "maxmemory", "0");
  },
});
