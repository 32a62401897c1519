/** The geometry of a time chart: stacking, paths and ticks. Pure. */
import { axisTime } from "./format.js";

/** Size of the drawing; the page stretches it. */
export const WIDTH = 600;
export const HEIGHT = 150;
const TICKS = 4;

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
 * Values hold until the next sample, so edges are corners and nothing is invented in between.
 * @param {readonly number[]} at
 * @param {{ upper: readonly number[], from: number }} data
 * @param {Scale} scale
 */
export function stepPath(at, { upper, from }, { x, y }) {
  const points = [];
  for (let index = from; index < at.length; index += 1) {
    const left = x(at[index] ?? 0).toFixed(1);
    points.push(
      index === from
        ? `M${left},${y(upper[index] ?? 0).toFixed(1)}`
        : `H${left}V${y(upper[index] ?? 0).toFixed(1)}`,
    );
  }
  return points.length === 0 ? "M0,0" : `${points.join("")}H${WIDTH}`;
}

/**
 * @param {readonly number[]} at
 * @param {{ lower: readonly number[], upper: readonly number[], from: number }} data
 * @param {Scale} scale
 */
export function areaPath(at, { lower, upper, from }, scale) {
  const { x, y } = scale;
  const outline = stepPath(at, { upper, from }, scale);
  const back = [];
  for (let index = at.length - 1; index >= from; index -= 1) {
    back.push(`V${y(lower[index] ?? 0).toFixed(1)}H${x(at[index] ?? 0).toFixed(1)}`);
  }
  return `${outline}${back.join("")}Z`;
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
