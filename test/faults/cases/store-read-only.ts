/** The server that everybody is connected to becomes a replica, loses its data, and is promoted again. */
import { startValkey } from "../../support/valkey.ts";
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

export const storeReadOnly = defineFault({
  name: "store read-only",
  proves: "F24",
  store: "single",
  inject: async (_world, { server }) => {
    const other = await startValkey();
    await server.admin.replicaof("127.0.0.1", other.port);
    await pause(1_500);
    await server.admin.replicaof("NO", "ONE");
    await other.stop();
  },
});
