/** Waiting over GPU time as an SVG: what nothing beats, ours beside stock, with the target and the choice. */
import type { Candidate } from "./search.ts";
import type { ScalingResult } from "./types.ts";

export interface FrontierPlot {
  readonly title: string;
  /** Of the waiting axis, e.g. `waiting p95, s`. */
  readonly waitLabel: string;
  readonly waitOf: (result: ScalingResult) => number;
  readonly targetMs: number;
  readonly best: Candidate;
  readonly ours: readonly Candidate[];
  readonly stock: readonly Candidate[];
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 420, 70, 24, 48, 56];
const TICKS = [0, 0.25, 0.5, 0.75, 1];
const [OURS, STOCK, GREY] = ["#4477aa", "#ee6677", "#777777"];
const SECONDS_PER_HOUR = 3_600;

type Place = readonly [x: number, y: number];

export function frontierPlot(plot: FrontierPlot): string {
  const pointOf = ({ result }: Candidate): Place => [
    result.podSeconds.total / SECONDS_PER_HOUR,
    plot.waitOf(result) / 1_000,
  ];
  const [ours, stock] = [plot.ours.map(pointOf), plot.stock.map(pointOf)];
  const all = [...ours, ...stock, pointOf(plot.best), [0, (plot.targetMs / 1_000) * 1.5] as const];
  const maxX = Math.max(...all.map(([x]) => x)) * 1.05;
  const maxY = Math.max(...all.map(([, y]) => y)) * 1.05;
  const place = ([x, y]: Place): Place => [
    LEFT + (x / maxX) * (WIDTH - LEFT - RIGHT),
    HEIGHT - BOTTOM - (y / maxY) * (HEIGHT - TOP - BOTTOM),
  ];
  return document(plot.title, [
    ...axes(maxX, maxY, place, plot.waitLabel),
    targetLine(place([0, plot.targetMs / 1_000])[1]),
    stairs(stock.map(place), STOCK, "kpa"),
    stairs(ours.map(place), OURS, "ours"),
    choice(place(pointOf(plot.best))),
  ]);
}

/** Between two points the cheaper one is what one gets. */
function stairs(points: readonly Place[], colour: string, name: string): string {
  const path = points
    .map(([x, y], index) => (index === 0 ? `M${at(x)} ${at(y)}` : `H${at(x)}V${at(y)}`))
    .join("");
  const dots = points.map(([x, y]) => circle(x, y, 3, `fill="${colour}"`)).join("");
  const [x = 0, y = 0] = points[0] ?? [];
  const label = text(x + 8, y - 6, name, `fill="${colour}"`);
  return `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots}${label}`;
}

function choice([x, y]: Place): string {
  return circle(x, y, 8, `fill="none" stroke="${OURS}" stroke-width="2"`);
}

function targetLine(y: number): string {
  const line = `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y)}" y2="${at(y)}"`;
  const label = text(WIDTH - RIGHT, y - 6, "target", `text-anchor="end" fill="${GREY}"`);
  return `${line} stroke="${GREY}" stroke-dasharray="5 4"/>${label}`;
}

function axes(
  maxX: number,
  maxY: number,
  place: (point: Place) => Place,
  waitLabel: string,
): string[] {
  const marks = TICKS.flatMap((part) => {
    const [x] = place([part * maxX, 0]);
    const [, y] = place([0, part * maxY]);
    const line = `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y)}" y2="${at(y)}"`;
    return [
      `${line} stroke="#ddd"/>`,
      text(LEFT - 8, y + 4, shown(part * maxY), 'text-anchor="end"'),
      text(x, HEIGHT - BOTTOM + 20, shown(part * maxX), 'text-anchor="middle"'),
    ];
  });
  const middle = (LEFT + WIDTH - RIGHT) / 2;
  return [
    ...marks,
    text(middle, HEIGHT - 12, "GPU hours", 'text-anchor="middle"'),
    text(LEFT, TOP - 12, waitLabel, ""),
  ];
}

function circle(x: number, y: number, radius: number, style: string): string {
  return `<circle cx="${at(x)}" cy="${at(y)}" r="${radius}" ${style}/>`;
}

function text(x: number, y: number, content: string, style: string): string {
  return `<text x="${at(x)}" y="${at(y)}" ${style}>${escaped(content)}</text>`;
}

function document(title: string, parts: readonly string[]): string {
  const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}"`;
  const style = 'font-family="system-ui, sans-serif" font-size="12" fill="#222"';
  const ground = `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`;
  const heading = text(LEFT, 22, title, 'font-size="15"');
  return `${open} ${style}>\n${[ground, heading, ...parts].join("\n")}\n</svg>\n`;
}

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function at(value: number): string {
  return value.toFixed(1);
}

function shown(value: number): string {
  return String(Number(value.toPrecision(2)));
}
