/** The last minute of a service's requests: how many, how many failed, and where their time went. */
import { h } from "../lib/dom.js";
import { duration, plural } from "../lib/format.js";
import { empty, panel } from "./words.js";

/** Less than this per request is nothing. */
const LEAST_MS = 0.05;

/** In the order in which a request meets them. */
const PHASES = /** @type {const} */ ([
  ["queue", "Queue", "waiting for a free slot"],
  ["coldStart", "Cold start", "waiting for a first pod; median and 95 % of those that did"],
  ["connect", "Connect", "reaching the pod"],
  ["upstream", "Upstream", "the pod, until its first byte"],
]);

/** @param {readonly import("../types.ts").RevisionView[]} revisions */
export function traffic(revisions) {
  const rows = revisions.flatMap(({ name, traffic: view }) =>
    view === null ? [] : [{ name, view }],
  );
  if (rows.length === 0) {
    return panel(
      "Where the time goes",
      empty("No request ended in the last minute.", "The parts of their time are shown here."),
    );
  }
  return panel(
    "Where the time goes",
    h("p", { class: "hint" }, "Requests that ended in the last minute; times per request."),
    ...rows.map((row) => revisionTraffic(row, rows.length > 1)),
  );
}

/**
 * @param {{ name: string, view: NonNullable<import("../types.ts").RevisionView["traffic"]> }} row
 * @param {boolean} isNamed
 */
function revisionTraffic({ name, view }, isNamed) {
  const sumMs = PHASES.reduce((sum, [phase]) => sum + view.phases[phase].meanMs, 0);
  return h(
    "div",
    { class: "traffic", "data-key": name },
    isNamed && h("h3", {}, name),
    counts(view),
    h(
      "div",
      { class: "stack", role: "img", "aria-label": stackWords(view) },
      ...PHASES.map(([phase]) =>
        h("i", {
          class: `part phase-${phase}`,
          style: { "--share": String(view.phases[phase].meanMs / Math.max(sumMs, 0.001)) },
        }),
      ),
    ),
    h(
      "table",
      { class: "phases" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...["Part", "Mean", "Median", "95 %"].map((text) => h("th", { scope: "col" }, text)),
        ),
      ),
      h(
        "tbody",
        {},
        ...PHASES.map(([phase, label, says]) =>
          phaseRow(view.phases[phase], { phase, label, says }),
        ),
        phaseRow(view.phases.response, {
          phase: "response",
          label: "To the last byte",
          says: "all of it",
        }),
      ),
    ),
  );
}

/** @param {NonNullable<import("../types.ts").RevisionView["traffic"]>} view */
function counts({ requests, errors, mainError }) {
  const why = mainError === "" ? "" : `, mostly ${mainError.replaceAll("_", " ")}`;
  return h(
    "p",
    { class: "counts" },
    h("span", {}, h("b", {}, requests), requests === 1 ? " request" : " requests"),
    errors === 0
      ? h("span", { class: "soft" }, "no errors")
      : h("span", { class: "problem" }, `${plural(errors, "error")}${why}`),
  );
}

/**
 * @param {import("../../latency.ts").PhaseView} times
 * @param {{ phase: string, label: string, says: string }} words
 */
function phaseRow(times, { phase, label, says }) {
  const isNothing = times.meanMs < LEAST_MS;
  return h(
    "tr",
    { "data-key": phase },
    h(
      "th",
      { scope: "row" },
      h("i", { class: `mark phase-${phase}` }),
      label,
      " ",
      h("span", { class: "soft says" }, says),
    ),
    ...[times.meanMs, times.p50Ms, times.p95Ms].map((ms) =>
      h("td", { class: "number" }, isNothing ? "–" : duration(ms)),
    ),
  );
}

/** @param {NonNullable<import("../types.ts").RevisionView["traffic"]>} view */
function stackWords(view) {
  const words = PHASES.map(([phase, label]) => `${label} ${duration(view.phases[phase].meanMs)}`);
  return `Mean time per request: ${words.join(", ")}`;
}
