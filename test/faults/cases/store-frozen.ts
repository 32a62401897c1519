/** The server takes connections and says nothing for five seconds: longer than any lease. */
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

export const storeFrozen = defineFault({
  name: "store frozen for 5 s",
  proves: "issue 4, items 5 and 6",
  store: "single",
  inject: async (_world, { server }) => {
    process.kill(server.pid, "SIGSTOP");
    await pause(5_000);
    process.kill(server.pid, "SIGCONT");
  },
});
