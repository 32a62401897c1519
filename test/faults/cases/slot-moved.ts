/** The slot that holds the revision moves to each other primary of a cluster in turn. */
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

export const slotMoved = defineFault({
  name: "slot moved between primaries",
  proves: "issue 4, item 5",
  store: "cluster",
  inject: async (world, cluster) => {
    const slot = await cluster.slotOf(world.metaKey);
    const owner = await cluster.ownerOf(slot);
    for (const node of [...cluster.nodes.filter(({ port }) => port !== owner.port), owner]) {
      await cluster.moveSlot(slot, node);
      await pause(500);
    }
  },
});
