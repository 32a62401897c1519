/**
 * The dashboard over a made-up fleet, for work on the page:
 * `node test/support/dashboard-dev.ts [busy|empty|store-down] [PORT]`.
 */
import { createDashboard } from "../../dashboard/server.ts";
import { systemClock } from "../../foundation/clock.ts";
import { fleetParts } from "./dashboard-fleet.ts";

const [scene = "busy", port = "0"] = process.argv.slice(2);

// The clock starts five minutes ago and leaps with each sample until it is now: the sampler then
// finds its period over at once, and the charts are full within a second.
let behindMs = 300_000;
const clock = { now: () => systemClock.now() - behindMs };
const fleet = fleetParts({
  clock,
  ...(scene === "empty" ? { members: [] } : {}),
  storeFails: () => scene === "store-down" && behindMs === 0,
});
const app = createDashboard({
  ...fleet,
  services: () => {
    behindMs = Math.max(0, behindMs - 1_000);
    return fleet.services();
  },
});
process.stdout.write(`${await app.listen({ host: "127.0.0.1", port: Number(port) })}\n`);
process.once("SIGTERM", () => void app.close());
process.once("SIGINT", () => void app.close());
