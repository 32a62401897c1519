/** Cells of the platform: how each is heard, what it has of each service, and why requests went where. */
import { h } from "../lib/dom.js";
import { clockTime, duration, plural } from "../lib/format.js";
import { CELLS_ROUTE } from "../lib/state.js";
import { empty, panel } from "./words.js";

const MOST_CHOICES = 20;
const S_PER_HOUR = 3_600;

/**
 * @typedef {import("../../../common/contracts/cells-page.ts").CellsPage} CellsPage
 * @typedef {CellsPage["cells"][number]} CellRow
 */

/**
 * One row per cell; the overview shows no more, but where the rest is.
 * @param {CellsPage} page
 */
export function cellsPanel(page) {
  const link = h("a", { href: CELLS_ROUTE }, "Services and choices by cell");
  return cells(page, h("p", { class: "hint" }, link));
}

/** @param {CellsPage} page @param {...Element} more */
function cells(page, ...more) {
  return panel(
    "Cells",
    table(
      "cells",
      ["Cell", "Heard", "Round trip", "Warm", "Starting", "Waiting", "Pods of share", "Per hour"],
      page.cells.map((cell) => cellRow(cell)),
    ),
    ...page.faults.map((fault) => h("p", { class: "hint" }, `Not used: ${fault}`)),
    ...more,
  );
}

/**
 * @param {CellsPage | null | undefined} page
 * @returns {Element[]}
 */
export function cellsPage(page) {
  const title = h("h1", { class: "visually-hidden", "data-key": "title" }, "Cells");
  if (page === null || page === undefined) {
    return [
      title,
      empty("This platform has one cell.", "pilotlight up --cells eu,us=80ms FILE starts two."),
    ];
  }
  return [title, cells(page), serviceTable(page), choices(page), ways(page)];
}

/** @param {CellRow} cell */
function cellRow(cell) {
  const { name, isHere, isFresh, roundTripMs, services } = cell;
  const sum = (/** @type {(row: CellRow["services"][number]) => number} */ of) =>
    services.reduce((total, row) => total + of(row), 0);
  const [tone, word] = isHere ? ["calm", "here"] : isFresh ? ["good", "heard"] : ["bad", "silent"];
  return h(
    "tr",
    { "data-key": name },
    h("th", { scope: "row" }, name),
    cellOf("Heard", h("span", { class: `pill ${tone}` }, word)),
    cellOf("Round trip", roundTripMs === null || isHere ? "–" : duration(roundTripMs)),
    cellOf(
      "Warm",
      sum(({ warm }) => warm),
    ),
    cellOf(
      "Starting",
      sum(({ starting }) => starting),
    ),
    cellOf(
      "Waiting",
      sum(({ waiting }) => waiting),
    ),
    cellOf("Pods of share", `${sum(({ pods }) => pods)} of ${sum(({ share }) => share)}`),
    cellOf("Per hour", money(sum(({ pods, price }) => pods * price))),
  );
}

/** What each service costs, and has, in each cell. @param {CellsPage} page */
function serviceTable({ cells: all }) {
  const rows = all.flatMap((cell) => cell.services.map((row) => ({ cell: cell.name, ...row })));
  rows.sort((left, right) => left.service.localeCompare(right.service));
  if (rows.length === 0) {
    return panel(
      "Services",
      empty("No service spans cells.", "Name cells in pilotlight.dev/regions."),
    );
  }
  return panel(
    "Services",
    table(
      "cell-services",
      ["Service", "Cell", "Warm", "Starting", "Waiting", "Pods of share", "Per hour"],
      rows.map((row) =>
        h(
          "tr",
          { "data-key": `${row.service} ${row.cell}` },
          h("th", { scope: "row" }, row.service),
          cellOf("Cell", row.cell),
          cellOf("Warm", row.warm),
          cellOf("Starting", row.starting),
          cellOf("Waiting", row.waiting),
          cellOf("Pods of share", `${row.pods} of ${row.share}`),
          cellOf("Per hour", money(row.pods * row.price)),
        ),
      ),
    ),
  );
}

/** The latest first. @param {CellsPage} page */
function choices({ choices: all }) {
  if (all.length === 0) {
    return panel(
      "Choices",
      empty("No choice yet.", "A request that finds no free slot here makes one."),
    );
  }
  return panel(
    "Choices",
    h(
      "ol",
      { class: "decisions" },
      ...all
        .slice(-MOST_CHOICES)
        .toReversed()
        .map(({ at, service, cell, words }) =>
          h(
            "li",
            { "data-key": `${at} ${service}` },
            h("span", { class: "change same" }, cell ?? "nowhere"),
            h("span", { class: "why" }, h("b", {}, service), ` ${words}`),
            h("time", { class: "soft" }, clockTime(at)),
          ),
        ),
    ),
  );
}

/** @param {CellsPage} page */
function ways({ spills }) {
  if (spills.length === 0) return h("div", { "data-key": "ways" });
  return panel(
    "Requests sent to other cells",
    h(
      "ul",
      { class: "health" },
      ...spills.map(({ cell, spill, outcome, count }) =>
        h(
          "li",
          { "data-key": `${cell} ${spill} ${outcome}` },
          h("b", {}, cell),
          h("span", { class: `pill ${outcome === "served" ? "good" : "fair"}` }, outcome),
          h("span", { class: "soft" }, `${plural(count, "request")}, ${spillWords(spill)}`),
        ),
      ),
    ),
  );
}

/** @param {"warm" | "wait"} spill */
function spillWords(spill) {
  return spill === "warm" ? "for a free slot" : "to wait there";
}

/** In whatever currency prices are given. @param {number} perSecond */
function money(perSecond) {
  return perSecond === 0 ? "–" : (perSecond * S_PER_HOUR).toFixed(2);
}

/** @param {string} name @param {readonly string[]} head @param {readonly Element[]} rows */
function table(name, head, rows) {
  return h(
    "table",
    { class: `cards ${name}` },
    h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, ...rows),
  );
}

/** @param {string} label @param {Element | string | number} content */
function cellOf(label, content) {
  return h("td", { "data-label": label }, h("div", {}, content));
}
