/** What states are called on the page, and how a pod is drawn. One place, so all panels agree. */
import { h } from "../lib/dom.js";
import { duration, plural } from "../lib/format.js";

export const SERVICE_WORDS = /** @type {const} */ ({
  serving: "serving",
  starting: "starting",
  "at-zero": "at zero",
  failing: "failing",
  unknown: "unknown",
});

/** Order in which targets are listed and counted. */
export const TARGET_ORDER = /** @type {const} */ ([
  "ready",
  "starting",
  "unready",
  "suspected",
  "quarantined",
  "draining",
]);

/** @typedef {import("../../view.ts").TargetRow} TargetRow */

/** @param {keyof typeof SERVICE_WORDS} state */
export function serviceState(state) {
  return h("span", { class: `state state-${state}` }, SERVICE_WORDS[state]);
}

/** @param {TargetRow["state"]} state */
export function targetState(state) {
  return h("span", { class: `state target-${state}` }, state);
}

/**
 * A pod as a small block, filled by its share of busy slots.
 * @param {TargetRow} target
 */
export function podBlock(target) {
  const { capacity, inFlight, state, podName } = target;
  const share = capacity > 0 ? Math.min(1, inFlight / capacity) : Math.min(1, inFlight);
  return h("i", {
    class: `pod target-${state}`,
    "data-key": target.uid,
    title: `${podName}: ${state}, ${slots(target)}`,
    style: { "--fill": `${Math.round(share * 100)}%` },
  });
}

/** @param {TargetRow} target */
export function slots({ capacity, inFlight }) {
  return capacity > 0
    ? `${inFlight} of ${plural(capacity, "slot")} busy`
    : `${plural(inFlight, "request")} in flight`;
}

/**
 * `2 ready, 1 starting`, or that there is none.
 * @param {Readonly<Record<TargetRow["state"], number>>} counts
 */
export function countWords(counts) {
  const words = TARGET_ORDER.filter((state) => counts[state] > 0).map(
    (state) => `${counts[state]} ${state}`,
  );
  return words.length === 0 ? "no pods" : words.join(", ");
}

/**
 * @param {string} title
 * @param {...(Element | null | false)} content
 */
export function panel(title, ...content) {
  return h(
    "section",
    { class: "panel", "data-key": title, "aria-label": title },
    h("h2", {}, title),
    ...content,
  );
}

/** @param {string} text @param {string} [hint] */
export function empty(text, hint = "") {
  return h(
    "div",
    { class: "empty" },
    h("p", {}, text),
    hint !== "" && h("p", { class: "hint" }, hint),
  );
}

/**
 * No revision could be read, which is not the same as having nothing.
 * @param {readonly import("../types.ts").RevisionView[]} revisions
 */
export function areUnknown(revisions) {
  return revisions.length > 0 && revisions.every(({ load }) => load === null);
}

export function unknown() {
  return empty("Not known now.", "It comes back as soon as the store can be read.");
}

/** @param {number | null} value */
export function figure(value) {
  return value === null ? "–" : value;
}

/** @param {number} ms */
export function ms(ms) {
  return h("span", { class: "number" }, duration(ms));
}
