/** Pods die without a word, one after the other, and others take their places. */
import { defineFault } from "../rig/fault.ts";
import { pause } from "../rig/world.ts";

const DEATHS = 4;

export const podsKilled = defineFault({
  name: "pods killed",
  proves: "R3, I8",
  store: "single",
  pods: 6,
  inject: async (world) => {
    for (let death = 0; death < DEATHS; death += 1) {
      const [victim] = world.pods;
      if (victim !== undefined) await world.killPod(victim);
      await world.addPod();
      await pause(700);
    }
    await world.allReady();
  },
});
