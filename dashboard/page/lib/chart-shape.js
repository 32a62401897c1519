/** The geometry of a time chart: stacking, paths and ticks. Pure. */
import { axisTime } from "./format.js";

/** Size of the drawing; the page stretches it. */
export const WIDTH = 600;
export const HEIGHT = 150;
const TICKS = 4;
/** Samples further apart than this have a gap between them. */
const GAP_MS = 5_000;
/** For so long the last sample of a run is drawn on. */
const HOLD_MS = 1_500;

/**
 * @typedef {import("../types.ts").ChartLine} ChartLine
 * @typedef {{ x: (time: number) => number, y: (value: number) => number }} Scale
 */

/** @param {readonly ChartLine[]} lines */
export function stack(lines) {
  /** @type {number[]} */
  let base = [];
  return lines.map((line) => {
    if (line.form === "step") return { line, lower: [], upper: [...line.values] };
    const lower = base;
    base = line.values.map((value, index) => value + (lower[index] ?? 0));
    return { line, lower, upper: base };
  });
}

/**
 * Values hold until the next sample, so edges are corners; where samples are missing the drawing
 * has a gap, because nobody knows what happened.
 * @param {readonly number[]} at
 * @param {{ upper: readonly number[], from: number }} data
 * @param {Scale} scale
 */
export function stepPath(at, { upper, from }, scale) {
  const paths = runs(at, from).map((run) => forward(at, upper, { run, scale }));
  return paths.length === 0 ? "M0,0" : paths.join("");
}

/**
 * @param {readonly number[]} at
 * @param {{ lower: readonly number[], upper: readonly number[], from: number }} data
 * @param {Scale} scale
 */
export function areaPath(at, { lower, upper, from }, scale) {
  const paths = runs(at, from).map((run) => {
    const back = [];
    for (let index = run.last; index >= run.first; index -= 1) {
      back.push(`V${rounded(scale.y(lower[index] ?? 0))}H${rounded(scale.x(at[index] ?? 0))}`);
    }
    return `${forward(at, upper, { run, scale })}${back.join("")}Z`;
  });
  return paths.length === 0 ? "M0,0" : paths.join("");
}

/**
 * @param {readonly number[]} at
 * @param {readonly number[]} values
 * @param {{ run: Run, scale: Scale }} place
 */
function forward(at, values, { run, scale }) {
  const { first, last } = run;
  const points = [];
  for (let index = first; index <= last; index += 1) {
    const left = rounded(scale.x(at[index] ?? 0));
    const height = rounded(scale.y(values[index] ?? 0));
    points.push(index === first ? `M${left},${height}` : `H${left}V${height}`);
  }
  const endX = Math.min(WIDTH, scale.x((at[last] ?? 0) + HOLD_MS));
  return `${points.join("")}H${rounded(endX)}`;
}

/** @param {number} value */
function rounded(value) {
  return value.toFixed(1);
}

/** @typedef {{ first: number, last: number }} Run */

/**
 * Indexes of samples that follow each other without a gap.
 * @param {readonly number[]} at
 * @param {number} from
 */
function runs(at, from) {
  /** @type {Run[]} */
  const found = [];
  for (let index = from; index < at.length; index += 1) {
    const run = found.at(-1);
    if (run !== undefined && (at[index] ?? 0) - (at[index - 1] ?? 0) <= GAP_MS) run.last = index;
    else found.push({ first: index, last: index });
  }
  return found;
}

/** @param {readonly number[]} at @param {number} startAt */
export function firstVisible(at, startAt) {
  const first = at.findIndex((time) => time >= startAt);
  return first === -1 ? at.length : Math.max(0, first - 1);
}

/** @param {readonly number[]} at @param {number} time */
export function nearest(at, time) {
  let best = at.length - 1;
  for (let index = best; index >= 0; index -= 1) {
    if (Math.abs((at[index] ?? 0) - time) < Math.abs((at[best] ?? 0) - time)) best = index;
  }
  return best;
}

/** @param {number} value */
export function niceTop(value) {
  if (value <= TICKS) return Math.max(2, Math.ceil(value));
  const step = 10 ** Math.floor(Math.log10(value / 2));
  return Math.ceil(value / (2 * step)) * 2 * step;
}

/** @param {number} top */
export function yTicks(top) {
  return [top, top / 2, 0].filter(Number.isInteger);
}

/** @param {number} spanMs */
export function xTicks(spanMs) {
  return Array.from({ length: TICKS + 1 }, (_, index) =>
    axisTime((spanMs * (TICKS - index)) / TICKS),
  );
}

/**
 * @param {number} nowAt
 * @param {number} spanMs
 * @param {number} top
 * @returns {Scale}
 */
export function scaleOf(nowAt, spanMs, top) {
  return {
    // The sample before the first visible one reaches in from the left edge.
    x: (time) => Math.max(0, ((time - (nowAt - spanMs)) / spanMs) * WIDTH),
    y: (value) => HEIGHT - (value / top) * HEIGHT,
  };
}
