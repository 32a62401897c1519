/** The five figures that answer "is all well?" at a glance. */
import { h } from "../lib/dom.js";
import { duration, median, plural, rate } from "../lib/format.js";
import { costPerHour, sumLoad } from "../lib/state.js";
import { areUnknown, figure } from "./words.js";

/** @typedef {import("../types.ts").RevisionView} RevisionView */

/** @param {import("../types.ts").Snapshot} snapshot */
export function totals({ services, run }) {
  const revisions = services.flatMap((service) => service.revisions);
  const ready = sumLoad(revisions, (load) => load.targetsByState.ready);
  const wanted = revisions.reduce((sum, { desiredScale }) => sum + desiredScale, 0);
  const arriving = sumLoad(revisions, (load) => load.arrivalRate);
  return h(
    "dl",
    { class: "totals", "data-key": "totals", "aria-label": "Totals" },
    tile("Running", figure(sumLoad(revisions, (load) => load.running)), arrivals(arriving)),
    waitingTile(revisions),
    tile("Ready pods", figure(ready), `${wanted} wanted`),
    costTile(revisions, run),
    coldStartTile(revisions),
  );
}

/** @param {number | null} perSecond */
function arrivals(perSecond) {
  return perSecond === null ? "not known now" : `${rate(perSecond)} arrive`;
}

/** @param {readonly RevisionView[]} revisions */
function waitingTile(revisions) {
  const waiting = sumLoad(revisions, (load) => load.waiting);
  const oldestMs = Math.max(0, ...revisions.map(({ load }) => load?.oldestWaitMs ?? 0));
  if (waiting === null) return tile("Waiting", figure(null), "not known now");
  if (waiting === 0) return tile("Waiting", 0, "nobody waits");
  return tile("Waiting", waiting, `oldest for ${duration(oldestMs)}`, "hot");
}

/**
 * Every pod holds its card, whatever its state.
 * @param {readonly RevisionView[]} revisions
 * @param {import("../types.ts").Snapshot["run"]} run
 */
function costTile(revisions, run) {
  const pods = revisions.reduce((sum, { targetCount }) => sum + targetCount, 0);
  const idle = revisions
    .flatMap(({ targets }) => targets)
    .filter(({ state, inFlight }) => state === "ready" && inFlight === 0).length;
  if (areUnknown(revisions)) return tile("Cost now", figure(null), "not known now");
  const note = pods === 0 ? "nothing runs" : `${plural(pods, "card")}, ${idle} idle`;
  const perHour = costPerHour(revisions, run);
  if (perHour === null) return tile("Cards now", pods, pods === 0 ? note : `${idle} idle`);
  return tile("Cost now", `${perHour.toFixed(2)}/h`, note);
}

/** @param {readonly RevisionView[]} revisions */
function coldStartTile(revisions) {
  const firstBytes = revisions
    .flatMap(({ coldStarts }) => coldStarts)
    .map(({ requestAt, firstByteAt }) => firstByteAt - requestAt);
  if (areUnknown(revisions)) return tile("Cold start", figure(null), "not known now");
  if (firstBytes.length === 0) return tile("Cold start", figure(null), "none yet");
  return tile(
    "Cold start",
    duration(median(firstBytes)),
    `median of the last ${firstBytes.length}`,
  );
}

/**
 * @param {string} label
 * @param {string | number} value
 * @param {string} note
 * @param {"calm" | "hot"} [heat]
 */
function tile(label, value, note, heat = "calm") {
  return h(
    "div",
    { class: `tile ${heat}` },
    h("dt", {}, label),
    h("dd", {}, h("span", { class: "big number" }, value), h("span", { class: "note" }, note)),
  );
}
