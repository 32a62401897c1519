/** An activator stands still for longer than its lease and goes on as if nothing had been. */
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

export const activatorPaused = defineFault({
  name: "activator paused for 5 s",
  proves: "issue 4, item 6",
  store: "single",
  inject: async ({ activators: [, victim] }) => {
    if (victim === undefined) return;
    process.kill(victim.pid, "SIGSTOP");
    await pause(5_000);
    process.kill(victim.pid, "SIGCONT");
  },
});
