/** Two pods of six change between ready and not ready, until they are put aside. */
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

const CHANGES = 3;

export const podsFlapping = defineFault({
  name: "pods flapping",
  proves: "R6, T4",
  store: "single",
  pods: 6,
  inject: async ({ pods }) => {
    const flapping = pods.slice(0, 2);
    for (let change = 0; change < 2 * CHANGES; change += 1) {
      for (const { container } of flapping) container.isReady = change % 2 === 1;
      await pause(1_200);
    }
  },
});
