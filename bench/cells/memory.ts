/**
 * What an activator of a cell keeps per service that it serves: a tenth of the cell's services has
 * traffic here, as a subset of activators makes it. A process of its own, so that nothing else
 * stands in its memory; prints bytes per service.
 *
 *   node bench/cells/memory.ts STORE_URL PREFIX SERVICES
 */
import { createStore } from "../../store/store.ts";
import { Revisions } from "../../activator/revisions.ts";
import { systemClock } from "../../foundation/clock.ts";
import { createLogger } from "../../foundation/logger.ts";
import { revisionConfig } from "../../test/support/activator-bench.ts";

const PART = 0.1;
const ROUNDS = 3;

const [url = "", prefix = "", count = "0"] = process.argv.slice(2);
const services = Number(count);
const served = Math.round(services * PART);
const handle = createStore({ url, prefix, activatorId: "a" });
await handle.ready();
for (let index = 0; index < services; index += 1) {
  await handle.store.configureRevision(
    revisionConfig({ service: `s${index}`, revision: `s${index}-00001` }),
  );
}
const before = heap();
const revisions = new Revisions({
  store: handle.store,
  activatorId: "a",
  clock: systemClock,
  logger: createLogger({ name: "memory", level: "silent" }),
  isRouted: () => true,
});
for (let index = 0; index < served; index += 1) {
  await revisions.load(revisions.use(`default/s${index}-00001`));
}
const used = heap() - before;
revisions.close();
await handle.close();
process.stdout.write(`${JSON.stringify({ bytesPerService: used / served })}\n`);

function heap(): number {
  for (let round = 0; round < ROUNDS; round += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
