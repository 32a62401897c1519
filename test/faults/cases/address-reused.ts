/**
 * The entry of a dead pod stands while its address belongs to a pod of another service. The entry
 * is made by a push in the dead pod's name; the sidecar that answers there is real.
 */
import { StubPod } from "../../support/activator-stub-pod.ts";
import { defineFault } from "../rig/fault.ts";
import { podAddress, startPod } from "../rig/pod.ts";
import { OTHER_NAME, POD_PORT, REVISION, REVISION_NAME, SECRET } from "../rig/settings.ts";
import { pause } from "../rig/world.ts";

const TIMES = 8;

export const addressReused = defineFault({
  name: "address reused by another service",
  proves: "R7",
  store: "single",
  inject: async (world) => {
    const { folder, ledger, activators } = world;
    const other = await startPod({
      revision: OTHER_NAME,
      activators: activators.map(({ push }) => push),
      events: { started: () => ledger.strayed() },
      record: (uid, address) => folder.writePod({ uid, address, revision: OTHER_NAME }),
    });
    const { address } = other;
    for (let time = 0; time < TIMES; time += 1) {
      const { uid } = podAddress();
      folder.writePod({ uid, address, revision: REVISION_NAME });
      const dead = new StubPod({ uid, address, revision: REVISION, secret: SECRET });
      await dead.push(activators[0]?.push ?? "", "hello", "ready", { port: POD_PORT });
      await pause(300);
      dead.vanish();
    }
    await other.kill();
  },
});
