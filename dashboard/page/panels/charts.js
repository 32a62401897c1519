/** Load and pods of one revision over the last minutes. */
import { chart } from "../lib/chart.js";
import { h } from "../lib/dom.js";
import { SPANS_MS } from "../lib/state.js";
import { empty } from "./words.js";

/**
 * @param {import("../types.ts").PageState} state
 * @param {import("../types.ts").RevisionView} revision
 * @param {() => void} redraw
 */
export function charts(state, revision, redraw) {
  const series = state.history[revision.key];
  if (series === undefined || series.at.length === 0) {
    return empty("No figures yet.", "The first ones come within a second or two.");
  }
  const common = {
    at: series.at,
    nowAt: state.snapshot?.at ?? Date.now(),
    spanMs: state.spanMs,
    cursorAt: state.cursorAt,
    onCursor: (/** @type {number | null} */ at) => {
      state.cursorAt = at;
      redraw();
    },
  };
  return h(
    "div",
    { class: "charts" },
    chart({
      ...common,
      title: "Requests",
      unit: "requests",
      lines: [
        { label: "running", look: "look-running", values: series.running, form: "area" },
        { label: "waiting", look: "look-waiting", values: series.waiting, form: "area" },
      ],
    }),
    chart({
      ...common,
      title: "Pods",
      unit: "pods",
      lines: [
        { label: "ready", look: "look-ready", values: series.ready, form: "area" },
        { label: "starting", look: "look-starting", values: series.starting, form: "area" },
        { label: "not ready", look: "look-unready", values: series.unready, form: "area" },
        { label: "wanted", look: "look-wanted", values: series.desired, form: "step" },
      ],
    }),
  );
}

/**
 * @param {import("../types.ts").PageState} state
 * @param {() => void} redraw
 */
export function spanChoice(state, redraw) {
  return h(
    "div",
    { class: "choice", role: "group", "aria-label": "Time shown" },
    ...SPANS_MS.map((spanMs) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(spanMs === state.spanMs),
          onclick: () => {
            state.spanMs = spanMs;
            redraw();
          },
        },
        `${spanMs / 60_000} min`,
      ),
    ),
  );
}
