/** What the autoscaler decided lately, in words, newest first. */
import { h } from "../lib/dom.js";
import { ago, clockTime } from "../lib/format.js";
import { empty, panel } from "./words.js";

/**
 * @param {readonly import("../types.ts").RevisionView[]} revisions
 * @param {number} nowAt
 * @param {number} most
 */
export function decisions(revisions, nowAt, most) {
  const rows = revisions
    .flatMap(({ name, decisions: list }) => list.map((decision) => ({ ...decision, name })))
    .toSorted((a, b) => b.at - a.at)
    .slice(0, most);
  if (rows.length === 0) {
    return panel(
      "Scale decisions",
      empty("No decision yet.", "Each change of the number of pods is listed with its reason."),
    );
  }
  return panel(
    "Scale decisions",
    h(
      "ol",
      { class: "decisions" },
      ...rows.map((row) =>
        h(
          "li",
          { "data-key": `${row.name} ${row.at}` },
          change(row.from, row.to),
          h("span", { class: "why" }, h("b", {}, row.name), ` ${row.reason}`),
          h("time", { class: "soft", title: clockTime(row.at) }, ago(nowAt - row.at)),
        ),
      ),
    ),
  );
}

/** @param {number} from @param {number} to */
function change(from, to) {
  const look = to > from ? "up" : to < from ? "down" : "same";
  return h(
    "span",
    { class: `change ${look}`, "aria-label": `from ${from} to ${to} pods` },
    `${from} → ${to}`,
  );
}
