/** All services: state, pods, load, and the last two minutes in small. */
import { h } from "../lib/dom.js";
import { plural, rate } from "../lib/format.js";
import { costPerHour, routeTo, sumLoad } from "../lib/state.js";
import { sparkline } from "../lib/sparkline.js";
import { areUnknown, countWords, empty, figure, panel, podBlock, serviceState } from "./words.js";

/** More blocks than this say less than their number. */
const MOST_BLOCKS = 24;

/** @param {import("../types.ts").PageState} state */
export function services(state) {
  const list = state.snapshot?.services ?? [];
  if (list.length === 0) {
    return panel(
      "Services",
      empty("No service is deployed.", "Start some with: pilotlight up examples/*/service.yaml"),
    );
  }
  const hasPrices = state.snapshot?.run.cardPrices !== undefined;
  const head = [
    "Service",
    "State",
    "Pods",
    "Requests",
    "Running",
    "Waiting",
    "Errors",
    "Ready / wanted",
    ...(hasPrices ? ["Cost now"] : []),
    "Last 2 min",
  ];
  return panel(
    "Services",
    h(
      "table",
      { class: "cards services" },
      h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...list.map((service) => row(service, state))),
    ),
  );
}

/**
 * @param {import("../types.ts").ServiceView} service
 * @param {import("../types.ts").PageState} state
 */
function row(service, state) {
  const { revisions } = service;
  const waiting = sumLoad(revisions, (load) => load.waiting);
  const ready = sumLoad(revisions, (load) => load.targetsByState.ready);
  const wanted = revisions.reduce((sum, { desiredScale }) => sum + desiredScale, 0);
  const series = revisions
    .map(({ key }) => state.history[key])
    .find((entry) => entry !== undefined);
  return h(
    "tr",
    { "data-key": `${service.namespace}/${service.name}` },
    h(
      "th",
      { scope: "row" },
      h("a", { class: "name", href: routeTo(service) }, service.name),
      h("span", { class: "soft mono" }, service.url.replace(/^https?:\/\//, "")),
    ),
    cell("State", serviceState(service.state)),
    cell(
      "Pods",
      pods(service),
      service.problem !== "" && h("span", { class: "problem" }, service.problem),
    ),
    cell("Requests", arriving(revisions)),
    cell(
      "Running",
      h("span", { class: "number" }, figure(sumLoad(revisions, (load) => load.running))),
    ),
    cell(
      "Waiting",
      h("span", { class: (waiting ?? 0) > 0 ? "number hot" : "number" }, figure(waiting)),
    ),
    cell("Errors", errors(revisions)),
    cell("Ready", h("span", { class: "number" }, `${figure(ready)} / ${wanted}`)),
    ...cost(service, state),
    h(
      "td",
      { class: "spark-cell" },
      series === undefined ? "" : sparkline(series, state.snapshot?.at ?? 0),
    ),
  );
}

/** @param {readonly import("../types.ts").RevisionView[]} revisions */
function arriving(revisions) {
  const perSecond = sumLoad(revisions, (load) => load.arrivalRate);
  const title = "Requests that arrive at present";
  return h("span", { class: "number", title }, perSecond === null ? "–" : rate(perSecond));
}

/**
 * @param {import("../types.ts").ServiceView} service
 * @param {import("../types.ts").PageState} state
 */
function cost({ revisions }, { snapshot }) {
  const perHour = snapshot === null ? null : costPerHour(revisions, snapshot.run);
  if (perHour === null) return [];
  const text = areUnknown(revisions) ? "–" : `${perHour.toFixed(2)}/h`;
  return [cell("Cost now", h("span", { class: "number" }, text))];
}

/** @param {readonly import("../types.ts").RevisionView[]} revisions of the last minute */
function errors(revisions) {
  const views = revisions.flatMap(({ traffic }) => (traffic === null ? [] : [traffic]));
  const count = views.reduce((sum, view) => sum + view.errors, 0);
  const requests = views.reduce((sum, view) => sum + view.requests, 0);
  if (requests === 0)
    return h("span", { class: "soft", title: "No request ended in the last minute" }, "–");
  const title = `${count} of ${plural(requests, "request")} in the last minute`;
  if (count === 0) return h("span", { class: "number", title }, "0");
  return h("span", { class: "number problem", title }, `${count} of ${requests}`);
}

/** @param {string} label @param {...(Element | false)} content */
function cell(label, ...content) {
  return h("td", { "data-label": label }, h("div", {}, ...content));
}

/** @param {import("../types.ts").ServiceView} service */
function pods({ revisions }) {
  const targets = revisions.flatMap((revision) => revision.targets);
  const total = revisions.reduce((sum, { targetCount }) => sum + targetCount, 0);
  const words = revisions.map(({ load }) =>
    load === null ? "unknown" : countWords(load.targetsByState),
  );
  if (areUnknown(revisions)) return h("span", { class: "soft" }, "not known now");
  if (total === 0) return h("span", { class: "soft" }, "no pods");
  const rest = total - Math.min(targets.length, MOST_BLOCKS);
  return h(
    "span",
    { class: "pods", role: "img", "aria-label": `${plural(total, "pod")}: ${words.join("; ")}` },
    ...targets.slice(0, MOST_BLOCKS).map(podBlock),
    rest > 0 && h("span", { class: "soft" }, `and ${rest} more`),
  );
}
