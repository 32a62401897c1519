/** A script of somebody else holds the server for three seconds. */
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

export const scriptBlocks = defineFault({
  name: "script blocks the store",
  proves: "F25",
  store: "single",
  inject: async (_world, { server }) => {
    await server.admin.config("SET", "busy-reply-threshold", "200");
    const stuck = server.admin.duplicate();
    const endless = stuck.eval("while true do end", 0).catch(() => "killed");
    await pause(3_000);
    await server.admin.script("KILL");
    await endless;
    stuck.disconnect();
  },
});
