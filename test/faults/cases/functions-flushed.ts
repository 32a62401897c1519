/** The server forgets all functions, again and again. */
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

export const functionsFlushed = defineFault({
  name: "functions flushed",
  proves: "F23",
  store: "single",
  inject: async (_world, { server }) => {
    for (let round = 0; round < 5; round += 1) {
      await server.admin.function("FLUSH");
      await server.admin.script("FLUSH");
      await pause(200);
    }
  },
});
