/**
 * A time chart as SVG: stacked areas and step lines on one scale, with a cursor that pointer and
 * arrow keys move. The colours are classes of the style sheet.
 */
import { h } from "./dom.js";
import {
  HEIGHT,
  WIDTH,
  areaPath,
  firstVisible,
  nearest,
  niceTop,
  scaleOf,
  stack,
  stepPath,
  xTicks,
  yTicks,
} from "./chart-shape.js";
import { clockTime } from "./format.js";

/**
 * @typedef {import("../types.ts").ChartLine} ChartLine
 * @typedef {object} ChartOptions
 * @property {string} title
 * @property {string} unit
 * @property {readonly number[]} at
 * @property {readonly ChartLine[]} lines
 * @property {number} nowAt
 * @property {number} spanMs
 * @property {number | null} cursorAt
 * @property {(at: number | null) => void} onCursor
 */

/** @param {ChartOptions} options */
export function chart(options) {
  const { title, unit, at, lines, nowAt, spanMs, cursorAt } = options;
  const from = firstVisible(at, nowAt - spanMs);
  const layers = stack(lines);
  const top = niceTop(Math.max(1, ...layers.flatMap(({ upper }) => upper.slice(from))));
  const index = cursorAt === null ? at.length - 1 : nearest(at, cursorAt);
  const ticks = yTicks(top).map((tick) => h("span", {}, tick));
  const times = xTicks(spanMs).map((text) => h("span", {}, text));
  return h(
    "figure",
    { class: "chart", "data-key": title },
    h("figcaption", {}, h("h3", {}, title), readout(options, index)),
    h(
      "div",
      { class: "plot" },
      h("div", { class: "y-axis", "aria-hidden": "true" }, ...ticks),
      drawing(options, { layers, from, top, index }),
    ),
    h("div", { class: "x-axis", "aria-hidden": "true" }, ...times),
    h("span", { class: "visually-hidden" }, `Unit: ${unit}.`),
  );
}

/**
 * @param {ChartOptions} options
 * @param {{ layers: ReturnType<typeof stack>, from: number, top: number, index: number }} shape
 */
function drawing(options, { layers, from, top, index }) {
  const { at, nowAt, spanMs, cursorAt, onCursor } = options;
  const scale = scaleOf(nowAt, spanMs, top);
  const paths = layers.map(({ line, lower, upper }) => {
    const data = { lower, upper, from };
    const d = line.form === "area" ? areaPath(at, data, scale) : stepPath(at, data, scale);
    return h("path", { class: `${line.form} ${line.look}`, d });
  });
  const grid = yTicks(top).map((tick) => level(scale.y(tick)));
  const cursorX = cursorAt === null ? null : scale.x(at[index] ?? 0);
  return h(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      tabindex: "0",
      role: "img",
      "aria-label": summary(options),
      onpointermove: (event) => onCursor(timeUnder(event, nowAt, spanMs)),
      onpointerleave: () => onCursor(null),
      onblur: () => onCursor(null),
      onkeydown: (event) => moveCursor(event, options, index),
    },
    ...grid,
    ...paths,
    cursorX !== null && h("line", { class: "cursor", x1: cursorX, x2: cursorX, y1: 0, y2: HEIGHT }),
  );
}

/** @param {number} y */
function level(y) {
  return h("line", { class: "grid", x1: 0, x2: WIDTH, y1: y, y2: y });
}

/** @param {ChartOptions} options @param {number} index */
function readout({ at, lines, cursorAt }, index) {
  const when = cursorAt === null ? "now" : clockTime(at[index] ?? cursorAt);
  return h(
    "ul",
    { class: "legend" },
    ...lines.map((line) =>
      h(
        "li",
        {},
        h("i", { class: `mark ${line.look}` }),
        `${line.label} `,
        h("b", {}, line.values[index] ?? 0),
      ),
    ),
    h("li", { class: "when" }, when),
  );
}

/** @param {ChartOptions} options */
function summary({ title, lines, unit }) {
  const parts = lines.map(
    ({ label, values }) => `${label} ${values.at(-1) ?? 0}, at most ${Math.max(0, ...values)}`,
  );
  return `${title} in ${unit}: ${parts.join("; ")}. Arrow keys move through time.`;
}

/** @param {PointerEvent} event @param {number} nowAt @param {number} spanMs */
function timeUnder(event, nowAt, spanMs) {
  const { left, width } = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
  return nowAt - spanMs + ((event.clientX - left) / width) * spanMs;
}

/** @param {KeyboardEvent} event @param {ChartOptions} options @param {number} index */
function moveCursor(event, { at, onCursor }, index) {
  const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
  if (event.key === "Escape") onCursor(null);
  if (steps === undefined) return;
  event.preventDefault();
  onCursor(at[Math.min(at.length - 1, Math.max(0, index + steps))] ?? null);
}
