/** Why a pod gets no request now, and what happened to it, in words. */
import { h } from "../lib/dom.js";
import { clockTime, duration } from "../lib/format.js";

/** @typedef {import("../../view.ts").TargetRow} TargetRow */

/** @type {Readonly<Record<TargetRow["state"], string>>} */
const STATE_WORDS = {
  ready: "takes the next request",
  starting: "its container is not ready yet",
  unready: "its container says that it is not ready",
  suspected: "no sign of life; used only when nothing else is free",
  quarantined: "left out after failures",
  draining: "finishes what runs, takes nothing new",
};

/**
 * @param {TargetRow} target
 * @param {number} waiting requests of its revision that wait
 * @param {number} nowAt
 */
export function whyNothing(target, waiting, nowAt) {
  const { state, reason, capacity, inFlight, quarantinedUntil } = target;
  if (state === "ready") {
    if (capacity > 0 && inFlight >= capacity) return "every slot is busy";
    if (waiting > 0) return STATE_WORDS.ready;
    return inFlight > 0 ? "a slot is free: nothing waits" : "free: nothing waits";
  }
  const until =
    state === "quarantined" && quarantinedUntil > nowAt
      ? `, for ${duration(quarantinedUntil - nowAt)} more`
      : "";
  return `${STATE_WORDS[state]}${until}${reason === "" ? "" : ` (${reason})`}`;
}

/** @param {TargetRow} target */
export function history({ podName, changes }) {
  if (changes.length < 2) return false;
  return h(
    "details",
    { class: "changes" },
    h("summary", { "aria-label": `History of ${podName}` }, `${changes.length} changes of state`),
    h(
      "ol",
      {},
      ...changes
        .toReversed()
        .map(({ at, state, reason }) =>
          h(
            "li",
            { "data-key": `${at} ${state}` },
            h("time", { class: "soft number" }, at > 0 ? clockTime(at) : "–"),
            h("span", { class: `state target-${state}` }, state),
            reason !== "" && h("span", { class: "soft" }, reason),
          ),
        ),
    ),
  );
}
