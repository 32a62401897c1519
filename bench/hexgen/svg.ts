/** Small charts as SVG text: lines over a numeric axis and grouped bars. No dependency. */

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface LineChart {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly series: readonly Series[];
}

export interface BarChart {
  readonly title: string;
  readonly yLabel: string;
  readonly groups: readonly string[];
  /** One value per group. */
  readonly bars: readonly { readonly name: string; readonly values: readonly number[] }[];
  /** A line across the chart: the goal. */
  readonly mark?: { readonly name: string; readonly value: number };
}

const WIDTH = 720;
const HEIGHT = 400;
const LEFT = 64;
const RIGHT = 190;
const TOP = 44;
const BOTTOM = 52;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM;
/** Colours that stay apart for colour-blind readers. */
const COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777"];

const colourOf = (index: number): string => COLOURS[index % COLOURS.length] ?? "#000000";

export function lineChart(chart: LineChart): string {
  const points = chart.series.flatMap((series) => series.points);
  const maxX = niceCeiling(Math.max(...points.map(([x]) => x)));
  const maxY = niceCeiling(Math.max(...points.map(([, y]) => y)));
  const x = (value: number): string => (LEFT + (value / maxX) * PLOT_WIDTH).toFixed(1);
  const y = yScale(maxY);
  const lines = chart.series.map(({ points: own }, index) => {
    const path = own.map((point) => `${x(point[0])},${y(point[1])}`).join(" ");
    return `<polyline fill="none" stroke="${colourOf(index)}" stroke-width="2" points="${path}"/>`;
  });
  const ticks = TICKS.map((part) =>
    text(x(part * maxX), HEIGHT - BOTTOM + 18, tick(part * maxX), "middle"),
  );
  const label = text(LEFT + PLOT_WIDTH / 2, HEIGHT - 12, chart.xLabel, "middle");
  const names = chart.series.map(({ name }) => name);
  return document(chart.title, [
    grid(maxY, chart.yLabel),
    ...ticks,
    label,
    ...lines,
    legend(names),
  ]);
}

export function barChart(chart: BarChart): string {
  const values = chart.bars.flatMap((bar) => bar.values);
  const maxY = niceCeiling(Math.max(...values, chart.mark?.value ?? 0));
  const y = yScale(maxY);
  const groupWidth = PLOT_WIDTH / chart.groups.length;
  const barWidth = (groupWidth * 0.8) / chart.bars.length;
  const bars = chart.bars.flatMap((bar, index) =>
    bar.values.map((value, group) => {
      const left = LEFT + group * groupWidth + groupWidth * 0.1 + index * barWidth;
      const height = (value / maxY) * PLOT_HEIGHT;
      const box = `x="${left.toFixed(1)}" y="${y(value)}" width="${barWidth.toFixed(1)}"`;
      return `<rect ${box} height="${height.toFixed(1)}" fill="${colourOf(index)}"/>`;
    }),
  );
  const groups = chart.groups.map((name, group) =>
    text(LEFT + (group + 0.5) * groupWidth, HEIGHT - BOTTOM + 18, name, "middle"),
  );
  const names = chart.bars.map(({ name }) => name);
  const mark =
    chart.mark === undefined ? "" : markLine(y(chart.mark.value), chart.mark.name, names.length);
  return document(chart.title, [grid(maxY, chart.yLabel), ...bars, ...groups, mark, legend(names)]);
}

const TICKS = [0, 0.25, 0.5, 0.75, 1];

function yScale(maxY: number): (value: number) => string {
  return (value) => (TOP + PLOT_HEIGHT * (1 - value / maxY)).toFixed(1);
}

/** The next number of the form 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((each) => each * power >= value) ?? 10;
  return step * power;
}

function tick(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function grid(maxY: number, yLabel: string): string {
  const y = yScale(maxY);
  const lines = TICKS.map((part) => {
    const at = y(part * maxY);
    const line = `<line x1="${LEFT}" x2="${LEFT + PLOT_WIDTH}" y1="${at}" y2="${at}" stroke="#ddd"/>`;
    return line + text(LEFT - 8, Number(at) + 4, tick(part * maxY), "end");
  });
  return lines.join("") + text(LEFT, TOP - 10, yLabel, "start");
}

/** A dashed line across the plot, named as the last entry of the legend. */
function markLine(at: string, name: string, position: number): string {
  const dashed = (x1: number, x2: number, y: number | string): string =>
    `<line x1="${x1}" x2="${x2}" y1="${y}" y2="${y}" stroke="#333" stroke-dasharray="5 4"/>`;
  const top = legendTop(position);
  const sample = dashed(LEGEND_LEFT - 4, LEGEND_LEFT + 14, top - 4);
  const label = text(LEGEND_LEFT + 18, top, name, "start");
  return dashed(LEFT, LEFT + PLOT_WIDTH, at) + sample + label;
}

const LEGEND_LEFT = WIDTH - RIGHT + 16;
const legendTop = (position: number): number => TOP + 40 + position * 20;

function legend(names: readonly string[]): string {
  return names
    .map((name, index) => {
      const top = legendTop(index);
      const box = `<rect x="${LEGEND_LEFT}" y="${top - 10}" width="12" height="12"`;
      return `${box} fill="${colourOf(index)}"/>${text(LEGEND_LEFT + 18, top, name, "start")}`;
    })
    .join("");
}

function text(
  x: number | string,
  y: number | string,
  content: string,
  anchor: "start" | "middle" | "end",
): string {
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${escaped}</text>`;
}

function document(title: string, parts: readonly string[]): string {
  const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}"`;
  const style = 'font-family="system-ui, sans-serif" font-size="12" fill="#222"';
  const heading = `<text x="${LEFT}" y="20" font-size="15">${title}</text>`;
  const ground = `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`;
  return `${open} ${style}>\n${[ground, heading, ...parts].join("\n")}\n</svg>\n`;
}
