/** Asynchronous runs of a service, newest first. */
import { h } from "../lib/dom.js";
import { ago, duration } from "../lib/format.js";
import { empty, panel } from "./words.js";

/** The newest ones; the command line lists more. */
const MOST_ROWS = 8;

const TONES = /** @type {const} */ ({
  queued: "fair",
  running: "calm",
  success: "good",
  failure: "bad",
  unknown: "bad",
  expired: "bad",
});

/**
 * @param {readonly import("../../view.ts").RunRow[]} rows
 * @param {number} nowAt
 * @param {string} service
 */
export function runs(rows, nowAt, service) {
  if (rows.length === 0) {
    return panel(
      "Asynchronous runs",
      empty("No run in the last hour.", "A call with ?async=true starts one."),
    );
  }
  const head = ["Run", "State", "Accepted", "Waited", "Ran", "Webhook"];
  return panel(
    "Asynchronous runs",
    h(
      "table",
      { class: "cards runs" },
      h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows.slice(0, MOST_ROWS).map((row) => runRow(row, nowAt))),
    ),
    rows.length > MOST_ROWS && h("p", { class: "hint" }, `Older ones: pilotlight runs ${service}`),
  );
}

/** @param {import("../../view.ts").RunRow} run @param {number} nowAt */
function runRow(run, nowAt) {
  const { id, call, state, status, acceptedAt, startedAt, endedAt, delivery } = run;
  const waitedMs = (startedAt || endedAt || nowAt) - acceptedAt;
  const ranMs = startedAt === 0 ? null : (endedAt || nowAt) - startedAt;
  return h(
    "tr",
    { "data-key": id },
    h(
      "th",
      { scope: "row" },
      h("span", { class: "mono run-id" }, id),
      h("span", { class: "soft mono run-call" }, call),
    ),
    cell(
      "State",
      h("span", { class: `pill ${TONES[state]}` }, state),
      status > 0 && h("span", { class: "soft number" }, status),
    ),
    cell("Accepted", ago(Math.max(0, nowAt - acceptedAt))),
    cell("Waited", duration(Math.max(0, waitedMs))),
    cell("Ran", ranMs === null ? "–" : duration(Math.max(0, ranMs))),
    cell("Webhook", delivery === "none" ? "–" : delivery),
  );
}

/** @param {string} label @param {...(Element | string | false)} content */
function cell(label, ...content) {
  return h("td", { "data-label": label }, h("div", {}, ...content));
}
