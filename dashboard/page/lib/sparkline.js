/** The last two minutes of a revision in a small drawing: running below, waiting on top of it. */
import { HEIGHT, WIDTH, areaPath, firstVisible, scaleOf, stack } from "./chart-shape.js";
import { h } from "./dom.js";

const SPAN_MS = 120_000;

/** @param {import("../types.ts").Series} series @param {number} nowAt */
export function sparkline({ at, running, waiting }, nowAt) {
  const from = firstVisible(at, nowAt - SPAN_MS);
  const layers = stack([
    { label: "running", look: "look-running", values: running, form: "area" },
    { label: "waiting", look: "look-waiting", values: waiting, form: "area" },
  ]);
  const top = Math.max(1, ...layers.flatMap(({ upper }) => upper.slice(from)));
  const scale = scaleOf(nowAt, SPAN_MS, top);
  return h(
    "svg",
    {
      class: "spark",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `Last 2 minutes: at most ${top} requests at once`,
    },
    ...layers.map(({ line, lower, upper }) =>
      h("path", { class: `area ${line.look}`, d: areaPath(at, { lower, upper, from }, scale) }),
    ),
    h("line", { class: "base", x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }),
  );
}
