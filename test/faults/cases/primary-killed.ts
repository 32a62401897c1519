/** The primary is killed; three Sentinels promote its replica. */
import { eventually } from "../../support/eventually.ts";
import { defineFault } from "../rig/fault.ts";

export const primaryKilled = defineFault({
  name: "primary killed, replica promoted",
  proves: "R9, F24",
  store: "sentinel",
  inject: async (_world, set) => {
    process.kill(set.primary.pid, "SIGKILL");
    await eventually(async () => (await set.primaryPort()) === set.replica.port, {
      timeoutMs: 20_000,
      everyMs: 10,
      what: "the Sentinels name the replica",
    });
  },
});
