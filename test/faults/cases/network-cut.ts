/** Nothing passes between one activator and two of the pods for three seconds, in either direction. */
import { fileURLToPath } from "node:url";
import { eventually } from "../../support/eventually.ts";
import { defineFault } from "../rig/fault.ts";
import type { ActivatorProcess } from "../rig/activator-process.ts";
import { POD_PORT } from "../rig/settings.ts";
import { pause } from "../rig/world.ts";

const PRELOAD = fileURLToPath(new URL("../preload/cut-network.ts", import.meta.url));

async function cut({ child }: ActivatorProcess, peers: readonly string[]): Promise<void> {
  let isDone = false;
  child.on("message", (message) => (isDone ||= (message as { type?: string }).type === "cut done"));
  child.send({ type: "cut", peers });
  await eventually(() => isDone, { what: "the network is cut" });
}

export const networkCut = defineFault({
  name: "network cut between an activator and pods",
  proves: "T4, T5, I8",
  store: "single",
  pods: 6,
  activators: async (world) => {
    await world.addActivator([PRELOAD]);
    await world.addActivator([PRELOAD]);
  },
  inject: async ({ activators: [first], pods }) => {
    if (first === undefined) return;
    await cut(
      first,
      pods.slice(0, 2).map(({ address }) => `${address}:${POD_PORT}`),
    );
    await pause(3_000);
    await cut(first, []);
  },
});
