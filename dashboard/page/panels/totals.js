/** The four figures that answer "is all well?" at a glance. */
import { h } from "../lib/dom.js";
import { duration, median, plural, rate } from "../lib/format.js";
import { sumLoad } from "../lib/state.js";

/** @param {import("../types.ts").Snapshot} snapshot */
export function totals({ services }) {
  const revisions = services.flatMap((service) => service.revisions);
  const ready = sumLoad(revisions, (load) => load.targetsByState.ready);
  const wanted = revisions.reduce((sum, { desiredScale }) => sum + desiredScale, 0);
  const waiting = sumLoad(revisions, (load) => load.waiting);
  const oldestMs = Math.max(0, ...revisions.map(({ load }) => load?.oldestWaitMs ?? 0));
  const starts = revisions.flatMap(({ coldStarts }) => coldStarts);
  const firstBytes = starts.map(({ requestAt, firstByteAt }) => firstByteAt - requestAt);
  return h(
    "dl",
    { class: "totals", "data-key": "totals", "aria-label": "Totals" },
    tile(
      "Running",
      sumLoad(revisions, (load) => load.running),
      `${rate(sumLoad(revisions, (load) => load.arrivalRate))} arrive`,
    ),
    tile(
      "Waiting",
      waiting,
      waiting === 0 ? "nobody waits" : `oldest for ${duration(oldestMs)}`,
      waiting > 0,
    ),
    tile("Ready pods", ready, `${wanted} wanted`),
    tile(
      "Cold start",
      starts.length === 0 ? "none" : duration(median(firstBytes)),
      starts.length === 0 ? "yet" : `median of the last ${plural(starts.length, "one")}`,
    ),
  );
}

/** @param {string} label @param {string | number} value @param {string} note @param {boolean} [isHot] */
function tile(label, value, note, isHot = false) {
  return h(
    "div",
    { class: isHot ? "tile hot" : "tile" },
    h("dt", {}, label),
    h("dd", {}, h("span", { class: "big number" }, value), h("span", { class: "note" }, note)),
  );
}
