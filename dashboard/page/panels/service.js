/** The page of one service: its head, charts per revision, and the panels that explain them. */
import { h } from "../lib/dom.js";
import { plural, rate } from "../lib/format.js";
import { sumLoad } from "../lib/state.js";
import { charts, spanChoice } from "./charts.js";
import { coldStarts } from "./cold-starts.js";
import { decisions } from "./decisions.js";
import { learnt } from "./learnt.js";
import { runs } from "./runs.js";
import { targets } from "./targets.js";
import { traffic } from "./traffic.js";
import { countWords, empty, figure, panel, serviceState } from "./words.js";

const COLD_STARTS = 12;
const DECISIONS = 12;

/**
 * @param {import("../types.ts").PageState} state
 * @param {import("../types.ts").ServiceView | undefined} service
 * @param {() => void} redraw
 */
export function servicePage(state, service, redraw) {
  const nowAt = state.snapshot?.at ?? Date.now();
  if (service === undefined) {
    return [
      backLink(),
      h("h1", { class: "visually-hidden", "data-key": "title" }, "Service not found"),
      panel("Not found", empty("There is no such service (any more).")),
    ];
  }
  return [
    backLink(),
    head(service),
    ...service.revisions.map((revision) =>
      h(
        "section",
        { class: "panel", "data-key": revision.key, "aria-label": `Load of ${revision.name}` },
        h(
          "div",
          { class: "panel-head" },
          h("h2", {}, revision.name),
          revisionFacts(revision, state.snapshot?.activators ?? []),
          spanChoice(state, redraw),
        ),
        charts(state, revision, redraw),
      ),
    ),
    traffic(service.revisions),
    targets(service.revisions, nowAt),
    ...learnt(service.revisions, nowAt),
    ...(service.runs === undefined ? [] : [runs(service.runs, nowAt, service.name)]),
    h(
      "div",
      { class: "columns", "data-key": "columns" },
      coldStarts(service.revisions, nowAt, COLD_STARTS),
      decisions(service.revisions, nowAt, DECISIONS),
    ),
  ];
}

function backLink() {
  return h("p", { class: "back", "data-key": "back" }, h("a", { href: "#/" }, "← All services"));
}

/** @param {import("../types.ts").ServiceView} service */
function head({ name, namespace, url, state, problem, revisions }) {
  const running = sumLoad(revisions, (load) => load.running);
  const waiting = sumLoad(revisions, (load) => load.waiting);
  const arriving = sumLoad(revisions, (load) => load.arrivalRate);
  return h(
    "div",
    { class: "service-head", "data-key": "service-head" },
    h("h1", {}, name, " ", h("span", { class: "soft" }, `in ${namespace}`)),
    serviceState(state),
    h("a", { class: "mono url", href: url, target: "_blank", rel: "noreferrer" }, url),
    h(
      "p",
      { class: "facts" },
      h("span", {}, h("b", {}, figure(running)), " running"),
      h(
        "span",
        { class: (waiting ?? 0) > 0 ? "hot" : "" },
        h("b", {}, figure(waiting)),
        " waiting",
      ),
      h("span", {}, h("b", {}, arriving === null ? "–" : rate(arriving)), " arriving"),
    ),
    problem !== "" &&
      h(
        "p",
        { class: "banner bad" },
        h("strong", {}, "Pods do not start."),
        h("span", {}, problem),
      ),
  );
}

/**
 * @param {import("../types.ts").RevisionView} revision
 * @param {import("../types.ts").Snapshot["activators"]} activators
 */
function revisionFacts(revision, activators) {
  const { percent, containerConcurrency, minScale, maxScale, load, desiredScale } = revision;
  const limit =
    containerConcurrency === 0
      ? "no limit per pod"
      : `${plural(containerConcurrency, "slot")} per pod`;
  const bounds = `${minScale} to ${maxScale === 0 ? "any number of" : maxScale} pods`;
  const now = load === null ? "unknown" : countWords(load.targetsByState);
  return h(
    "p",
    { class: "revision-facts" },
    ...[
      `${percent} % of traffic`,
      limit,
      bounds,
      `${now}; ${desiredScale} wanted`,
      partWords(revision.activatorsWanted, activators),
    ].map((text) => h("span", {}, text)),
  );
}

/**
 * @param {number | undefined} wanted
 * @param {import("../types.ts").Snapshot["activators"]} activators
 */
function partWords(wanted, activators) {
  const up = activators.filter(({ state }) => state !== "down").length;
  return `${Math.min(wanted ?? up, up)} of ${plural(up, "activator")}`;
}
