/** Cold starts as waterfalls on one scale; each opens to its parts. */
import { h } from "../lib/dom.js";
import { ago, duration } from "../lib/format.js";
import { phasesOf } from "../lib/phases.js";
import { areUnknown, empty, ms, panel, unknown } from "./words.js";

/**
 * @param {readonly import("../types.ts").RevisionView[]} revisions
 * @param {number} nowAt
 * @param {number} most
 */
export function coldStarts(revisions, nowAt, most) {
  const records = revisions
    .flatMap((revision) => revision.coldStarts)
    .toSorted((a, b) => b.requestAt - a.requestAt)
    .slice(0, most)
    .map((record) => ({ record, ...phasesOf(record) }));
  if (records.length === 0 && areUnknown(revisions)) return panel("Cold starts", unknown());
  if (records.length === 0) {
    return panel(
      "Cold starts",
      empty("No cold start yet.", "The first request to a service at zero makes one."),
    );
  }
  const scaleMs = Math.max(...records.map(({ totalMs }) => totalMs));
  return panel(
    "Cold starts",
    h(
      "ul",
      { class: "legend" },
      legend("platform", "platform"),
      legend("container", "container"),
      legend("request", "answer"),
    ),
    h(
      "ol",
      { class: "waterfalls" },
      ...records.map((entry) =>
        h("li", { "data-key": entry.record.requestId }, waterfall(entry, scaleMs, nowAt)),
      ),
    ),
  );
}

/** @param {string} owner @param {string} label */
function legend(owner, label) {
  return h("li", {}, h("i", { class: `mark owner-${owner}` }), label);
}

/**
 * @param {{ record: import("../lib/phases.js").ColdStartRecord } & ReturnType<typeof phasesOf>} entry
 * @param {number} scaleMs
 * @param {number} nowAt
 */
function waterfall({ record, phases, totalMs, platformMs, containerMs }, scaleMs, nowAt) {
  return h(
    "details",
    {},
    h(
      "summary",
      {},
      h(
        "span",
        { class: "who" },
        h("b", {}, record.service),
        h("span", { class: "soft" }, ago(nowAt - record.requestAt)),
      ),
      h(
        "span",
        { class: "bar", style: { "--length": share(totalMs, scaleMs) } },
        ...phases.map((phase) =>
          h("i", {
            class: `part owner-${phase.owner} part-${phase.name}`,
            style: { "--share": String(phase.ms) },
            title: `${phase.says}: ${duration(phase.ms)}`,
          }),
        ),
      ),
      h(
        "span",
        { class: "sum" },
        ms(totalMs),
        h("span", { class: "soft" }, `platform ${duration(platformMs)}`),
      ),
    ),
    h(
      "p",
      { class: "hint" },
      `The platform took ${duration(platformMs)}, the container ${duration(containerMs)} to start.`,
    ),
    h(
      "table",
      { class: "parts" },
      h("tbody", {}, ...phases.map((phase) => partRow(phase, totalMs))),
    ),
    h("p", { class: "hint mono" }, `request ${record.requestId}, pod ${record.podUid}`),
  );
}

/** @param {ReturnType<typeof phasesOf>["phases"][number]} phase @param {number} totalMs */
function partRow(phase, totalMs) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("i", { class: `mark owner-${phase.owner}` }), phase.says),
    h(
      "td",
      { class: "track" },
      h("i", {
        class: `owner-${phase.owner}`,
        style: { "--from": share(phase.startMs, totalMs), "--length": share(phase.ms, totalMs) },
      }),
    ),
    h("td", {}, ms(phase.ms)),
  );
}

/** @param {number} part @param {number} whole */
function share(part, whole) {
  return `${((part / Math.max(whole, 0.001)) * 100).toFixed(2)}%`;
}
