/** The state of the page and how messages of the feed change it. */

/** No service has a name without a namespace. */
export const CELLS_ROUTE = "#/cells";
/** As many rows as the server keeps. */
const HISTORY_ROWS = 600;
export const SPANS_MS = /** @type {const} */ ([120_000, 300_000, 600_000]);

/**
 * @typedef {import("../types.ts").PageState} PageState
 * @typedef {import("../types.ts").Route} Route
 * @typedef {import("../types.ts").RevisionView} RevisionView
 */

/** @returns {PageState} */
export function initialState() {
  return {
    snapshot: null,
    history: {},
    feed: "connecting",
    receivedAt: 0,
    route: parseRoute(""),
    spanMs: SPANS_MS[0],
    cursorAt: null,
  };
}

/**
 * @param {PageState} state
 * @param {import("./feed.js").FeedMessage} message
 */
export function applyMessage(state, message) {
  if (message.kind === "status") state.feed = message.data;
  else if (message.kind === "history") state.history = copySeries(message.data.series);
  else {
    const isNew = message.data.at > (state.snapshot?.at ?? 0);
    state.snapshot = message.data;
    state.receivedAt = Date.now();
    if (isNew) addRows(state, message.data);
  }
}

/** @param {string} hash e.g. `#/default/ocr` @returns {Route} */
export function parseRoute(hash) {
  if (hash === CELLS_ROUTE) return { kind: "cells" };
  const [namespace, name] = hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return namespace && name ? { kind: "service", namespace, name } : { kind: "overview" };
}

/** @param {{ namespace: string, name: string }} service */
export function routeTo({ namespace, name }) {
  return `#/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/**
 * @param {PageState} state
 * @param {import("../types.ts").Snapshot} snapshot
 */
function addRows(state, snapshot) {
  for (const revision of snapshot.services.flatMap(({ revisions }) => revisions)) {
    if (revision.load === null) continue;
    const series = (state.history[revision.key] ??= emptySeries());
    // The history that was fetched may hold this very sample already.
    if ((series.at.at(-1) ?? 0) >= snapshot.at) continue;
    const { ready, starting, ...others } = revision.load.targetsByState;
    series.at.push(snapshot.at);
    series.running.push(revision.load.running);
    series.waiting.push(revision.load.waiting);
    series.ready.push(ready);
    series.starting.push(starting);
    series.unready.push(Object.values(others).reduce((sum, count) => sum + count, 0));
    series.desired.push(revision.desiredScale);
    if (series.at.length > HISTORY_ROWS) for (const column of Object.values(series)) column.shift();
  }
}

/**
 * Messages are shared with other tabs, and the columns grow here.
 * @param {import("../types.ts").History["series"]} series
 * @returns {PageState["history"]}
 */
function copySeries(series) {
  return /** @type {PageState["history"]} */ (structuredClone(series));
}

/**
 * What the pods cost for an hour, each with its card whatever its state; null without prices.
 * @param {readonly RevisionView[]} revisions
 * @param {import("../types.ts").Snapshot["run"]} run
 */
export function costPerHour(revisions, { cardPrices }) {
  if (cardPrices === undefined) return null;
  let sum = 0;
  for (const { targets, priceFactor } of revisions) {
    for (const { card } of targets) sum += priceFactor * (cardPrices[card] ?? cardPrices["*"] ?? 0);
  }
  return sum;
}

/** @returns {import("../types.ts").MutableSeries} */
function emptySeries() {
  return { at: [], running: [], waiting: [], ready: [], starting: [], unready: [], desired: [] };
}

/**
 * Sum of a figure over revisions; null when the store could be read for none of them.
 * @param {readonly RevisionView[]} revisions
 * @param {(load: NonNullable<RevisionView["load"]>) => number} figure
 */
export function sumLoad(revisions, figure) {
  const loads = revisions.flatMap(({ load }) => (load === null ? [] : [load]));
  if (loads.length === 0 && revisions.length > 0) return null;
  return loads.reduce((sum, load) => sum + figure(load), 0);
}
