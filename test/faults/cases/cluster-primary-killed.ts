/** The primary of a cluster that holds the revision is killed; the others promote its replica. */
import { eventually } from "../../support/eventually.ts";
import { defineFault } from "../rig/fault.ts";

export const clusterPrimaryKilled = defineFault({
  name: "primary of a cluster killed, replica promoted",
  proves: "R9, F24, issue 4, item 5",
  store: "cluster",
  inject: async (world, cluster) => {
    const slot = await cluster.slotOf(world.metaKey);
    const owner = await cluster.ownerOf(slot);
    await cluster.kill(owner);
    await eventually(async () => (await cluster.ownerOf(slot)).port !== owner.port, {
      timeoutMs: 20_000,
      everyMs: 10,
      what: "another node serves the slot of the revision",
    });
  },
});
