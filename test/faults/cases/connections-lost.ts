/** Every connection to the store is cut by the server, commands and subscriptions alike. */
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

export const connectionsLost = defineFault({
  name: "store connections cut",
  proves: "I7",
  store: "single",
  inject: async (_world, { server }) => {
    for (let round = 0; round < 5; round += 1) {
      await server.admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await server.admin.call("CLIENT", "KILL", "TYPE", "pubsub");
      await pause(300);
    }
  },
});
