/** One activator's clock is a minute ahead, another's a minute behind: nothing may depend on it. */
import { fileURLToPath } from "node:url";
import { defineFault } from "../rig/fault.ts";

const preload = (name: string): string =>
  fileURLToPath(new URL(`../preload/${name}.ts`, import.meta.url));

export const clockWrong = defineFault({
  name: "clocks wrong by a minute",
  proves: "issue 4, item 6",
  store: "single",
  activators: async (world) => {
    await world.addActivator([preload("minute-ahead")]);
    await world.addActivator([preload("minute-behind")]);
    await world.addActivator();
  },
  inject: () => Promise.resolve(),
  // Longer than every lease and heartbeat.
  afterMs: 5_000,
});
