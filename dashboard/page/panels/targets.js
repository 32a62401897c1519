/** Targets of a revision: state, address, load, since when and why. */
import { h } from "../lib/dom.js";
import { ago, plural, roughly } from "../lib/format.js";
import { sumLoad } from "../lib/state.js";
import { history, whyNothing } from "./target-words.js";
import {
  TARGET_ORDER,
  areUnknown,
  empty,
  panel,
  podBlock,
  slots,
  targetState,
  unknown,
} from "./words.js";

/**
 * @param {readonly import("../types.ts").RevisionView[]} revisions
 * @param {number} nowAt
 */
export function targets(revisions, nowAt) {
  if (areUnknown(revisions)) return panel("Pods", unknown());
  const waiting = sumLoad(revisions, (load) => load.waiting) ?? 0;
  const rows = revisions
    .flatMap((revision) => revision.targets)
    .toSorted((a, b) => TARGET_ORDER.indexOf(a.state) - TARGET_ORDER.indexOf(b.state));
  const total = revisions.reduce((sum, { targetCount }) => sum + targetCount, 0);
  if (total === 0)
    return panel(
      "Pods",
      empty("No pod runs.", "A request starts one; until then nothing costs anything."),
    );
  const head = ["Pod", "State", "Why", "In flight", "Since", "Last report", "Card", "Address"];
  return panel(
    "Pods",
    h(
      "table",
      { class: "cards targets" },
      h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows.map((row) => targetRow(row, { waiting, nowAt }))),
    ),
    total > rows.length &&
      h("p", { class: "hint" }, `${plural(total - rows.length, "more pod")} not listed.`),
  );
}

/**
 * @param {import("../../view.ts").TargetRow} target
 * @param {{ waiting: number, nowAt: number }} moment
 */
function targetRow(target, { waiting, nowAt }) {
  const { uid, podName, state, changedAt, reportedAt, card, address } = target;
  return h(
    "tr",
    { "data-key": uid },
    h("th", { scope: "row" }, h("div", { class: "pod-name mono" }, podBlock(target), podName)),
    cell("State", targetState(state), history(target)),
    cell("Why", h("span", { class: "soft why-nothing" }, whyNothing(target, waiting, nowAt))),
    cell("In flight", slots(target)),
    cell("Since", changedAt > 0 && roughly(Math.max(0, nowAt - changedAt))),
    cell("Last report", reportedAt > 0 ? ago(Math.max(0, nowAt - reportedAt)) : "none yet"),
    cell("Card", card),
    cell("Address", h("span", { class: "mono" }, address)),
  );
}

/** @param {string} label @param {...(Element | string | false)} content */
function cell(label, ...content) {
  return h("td", { "data-label": label }, h("div", {}, ...content));
}
