/** Joins feed, state and panels: each message and each click draws the page anew. */
import { h, morph } from "./lib/dom.js";
import { startFeed } from "./lib/feed.js";
import { applyMessage, initialState, parseRoute } from "./lib/state.js";
import { applyTheme } from "./lib/theme.js";
import { cellsPage, cellsPanel } from "./panels/cells.js";
import { coldStarts } from "./panels/cold-starts.js";
import { decisions } from "./panels/decisions.js";
import { banners, header } from "./panels/header.js";
import { health } from "./panels/health.js";
import { servicePage } from "./panels/service.js";
import { services } from "./panels/services.js";
import { totals } from "./panels/totals.js";
import { workflows } from "./panels/workflows.js";

const COLD_STARTS = 8;
const DECISIONS = 8;
const WORKFLOWS = 12;
/** Ages and the sign of old figures move on while no message comes. */
const REDRAW_EVERY_MS = 1_000;

const root = /** @type {HTMLElement} */ (document.querySelector("#app"));
const announcer = /** @type {HTMLElement} */ (document.querySelector("#announce"));
const state = initialState();
let isDrawPlanned = false;

/** Draws once per frame however often it is called. */
function redraw() {
  if (isDrawPlanned) return;
  isDrawPlanned = true;
  requestAnimationFrame(() => {
    isDrawPlanned = false;
    morph(root, h("div", { id: "app" }, header(state, redraw), banners(state), main()));
  });
}

function main() {
  return h("main", { id: "main", tabindex: "-1", "data-key": "main" }, ...content());
}

/** @returns {Element[]} */
function content() {
  const { snapshot, route } = state;
  if (snapshot === null) return [loading()];
  if (route.kind === "service") {
    const isWanted = (/** @type {{ namespace: string, name: string }} */ service) =>
      service.namespace === route.namespace && service.name === route.name;
    return servicePage(state, snapshot.services.find(isWanted), redraw);
  }
  if (route.kind === "cells") return cellsPage(snapshot.cells);
  const revisions = snapshot.services.flatMap((service) => service.revisions);
  return [
    h("h1", { class: "visually-hidden", "data-key": "title" }, "Overview"),
    totals(snapshot),
    services(state),
    h(
      "div",
      { class: "columns", "data-key": "columns" },
      coldStarts(revisions, snapshot.at, COLD_STARTS),
      decisions(revisions, snapshot.at, DECISIONS),
    ),
    ...workflowPanel(snapshot),
    ...cellsOf(snapshot),
    health(snapshot),
  ];
}

/**
 * Nobody is told of workflows who runs none.
 * @param {import("./types.ts").Snapshot} snapshot
 */
function workflowPanel({ workflows: rows, at }) {
  if (rows === undefined || rows.length === 0) return [];
  return [h("div", { "data-key": "workflows" }, workflows(rows.slice(0, WORKFLOWS), at))];
}

/**
 * Only where there are several.
 * @param {import("./types.ts").Snapshot} snapshot
 */
function cellsOf({ cells }) {
  return cells === undefined || cells === null ? [] : [cellsPanel(cells)];
}

function loading() {
  return h(
    "div",
    { class: "loading", "aria-busy": "true", "data-key": "loading" },
    h("p", { class: "visually-hidden" }, "Loading figures"),
    ...Array.from({ length: 3 }, () => h("div", { class: "skeleton" })),
  );
}

function onRoute() {
  state.route = parseRoute(location.hash);
  state.cursorAt = null;
  const name = state.route.kind === "service" ? state.route.name : state.route.kind;
  document.title = name === "overview" ? "Pilotlight" : `${name} - Pilotlight`;
  announcer.textContent = `Showing ${name}`;
  redraw();
}

addEventListener("hashchange", () => {
  onRoute();
  scrollTo(0, 0);
  document.querySelector("main")?.focus({ preventScroll: true });
});
applyTheme();
onRoute();
startFeed((message) => {
  applyMessage(state, message);
  redraw();
});
setInterval(redraw, REDRAW_EVERY_MS);
