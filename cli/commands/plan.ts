/** `pilotlight plan`: the settings that meet a target for waiting at the least GPU time. */
import { writeFile } from "node:fs/promises";
import { frontierPlot } from "../../autoscaler/simulator/scaling/frontier-plot.ts";
import { changedOnly, planSettings } from "../../autoscaler/simulator/scaling/plan.ts";
import type { Plan } from "../../autoscaler/simulator/scaling/plan.ts";
import type { Candidate } from "../../autoscaler/simulator/scaling/search.ts";
import { parseTarget, shortKey } from "../../autoscaler/simulator/scaling/words.ts";
import type { WaitTarget } from "../../autoscaler/simulator/scaling/words.ts";
import type { ScalingAlgorithm } from "../../common/contracts/annotations.ts";
import { PlatformError } from "../../common/errors.ts";
import { EXIT } from "../command.ts";
import type { Command, Output } from "../command.ts";
import { formatColumns, formatDuration } from "../table.ts";
import { readWorkload, WORKLOAD_OPTIONS } from "../workload-options.ts";

const SECONDS_PER_HOUR = 3_600;
/** Points of the frontier that are printed; the plot and the JSON have them all. */
const SHOWN_POINTS = 8;
const NOTE_EVERY_MS = 3_000;

export const plan: Command = {
  name: "plan",
  summary: "find the settings that meet a target at the least GPU time",
  usage: "[SERVICE] --slo p95=2s [--shape NAME | --trace FILE] [--plot FILE]",
  mostArguments: 1,
  options: {
    slo: { type: "string", value: "TARGET", help: "longest waiting, e.g. p95=2s; needed" },
    plot: { type: "string", value: "FILE", help: "draw GPU time against waiting as an SVG" },
    ...WORKLOAD_OPTIONS,
  },
  details:
    "Searches window, cooldown, utilization, scaling buffer and delays on the given arrivals, and\n" +
    "prints the annotations to paste. Exits 1 when nothing met the target; then the nearest is\n" +
    "shown. Same seed, same bytes.",
  examples: [
    "pilotlight plan --slo p95=2s --shape day --rate 4 --plot plan.svg",
    "pilotlight plan ocr --slo p95=500ms --record 10m",
    "pilotlight plan --slo p99=5s --trace ocr.csv --start-time 8s,12s,20s --json",
  ],
  run: async (context) => {
    const slo = context.options.text("slo");
    if (slo === undefined) throw new PlatformError("ERR_USAGE", "Name a target: --slo p95=2s.");
    const target = parseTarget(slo);
    const workload = await readWorkload(context);
    const found = planSettings(workload, target, progressNotes(context.out));
    const plot = context.options.text("plot");
    if (plot !== undefined) await writeFile(plot, plotOf(found, target));
    const asJson = context.options.flag("json");
    context.out.print(asJson ? asText(found, target) : page(found, target));
    return found.meets ? EXIT.ok : EXIT.failure;
  },
};

/** A line every few seconds; a short search says nothing. */
function progressNotes(out: Output): (algorithm: ScalingAlgorithm) => void {
  const tried: Record<ScalingAlgorithm, number> = { pilot: 0, kpa: 0 };
  let lastMs = performance.now();
  return (algorithm) => {
    tried[algorithm] += 1;
    const nowMs = performance.now();
    if (nowMs - lastMs < NOTE_EVERY_MS) return;
    lastMs = nowMs;
    const stock = tried.kpa === 0 ? "" : `, ${tried.kpa} of kpa`;
    out.note(`searching: ${tried.pilot} settings simulated${stock}`);
  };
}

function page(found: Plan, target: WaitTarget): string {
  const goal = `waiting ${target.quantile} of at most ${formatDuration(target.limitMs)}`;
  const verdict = found.meets
    ? `Met: ${goal}, with ${hours(found.best)}.`
    : `Not met by any of ${found.tried} settings: ${goal}. The nearest waits ` +
      `${formatDuration(found.best.result.waitMs[target.quantile])}, with ${hours(found.best)}.`;
  const stock = found.stockMeets
    ? `kpa at its best needs ${hours(found.stock)}.`
    : "kpa does not meet it.";
  const entries = Object.entries(found.annotations);
  const paste =
    entries.length === 0
      ? "Change nothing: the present settings do it."
      : "Under spec.template.metadata.annotations:\n" +
        entries.map(([key, value]) => `  ${key}: "${value}"`).join("\n");
  return [
    `${verdict} ${stock}`,
    paste,
    `What waiting costs:\n${frontierTable(found, target)}`,
  ].join("\n\n");
}

function frontierTable({ frontier }: Plan, { quantile }: WaitTarget): string {
  const step = Math.max(1, Math.ceil(frontier.length / SHOWN_POINTS));
  const rows = frontier
    .filter((_, index) => index % step === 0 || index === frontier.length - 1)
    .map(({ annotations, result }) => [
      (result.podSeconds.total / SECONDS_PER_HOUR).toFixed(2),
      formatDuration(result.waitMs[quantile]),
      Object.entries(changedOnly(annotations))
        .map(([key, value]) => `${shortKey(key)}=${value}`)
        .join(" "),
    ]);
  return formatColumns([["GPU HOURS", `WAIT ${quantile.toUpperCase()}`, "SETTINGS"], ...rows]);
}

function plotOf(found: Plan, { quantile, limitMs }: WaitTarget): string {
  return frontierPlot({
    title: "What waiting costs",
    waitLabel: `waiting ${quantile}, s`,
    waitOf: ({ waitMs }) => waitMs[quantile],
    targetMs: limitMs,
    best: found.best,
    ours: found.frontier,
    stock: found.stockFrontier,
  });
}

function asText(found: Plan, target: WaitTarget): string {
  const short = ({ annotations, result }: Candidate): object => ({
    annotations,
    waitMs: result.waitMs,
    podSeconds: result.podSeconds,
    coldStarts: result.coldStarts,
  });
  const { meets, annotations, tried, stockMeets } = found;
  return JSON.stringify(
    {
      target,
      meets,
      annotations,
      tried,
      best: short(found.best),
      frontier: found.frontier.map(short),
      kpa: {
        meets: stockMeets,
        best: short(found.stock),
        frontier: found.stockFrontier.map(short),
      },
    },
    null,
    2,
  );
}

function hours({ result }: Candidate): string {
  return `${(result.podSeconds.total / SECONDS_PER_HOUR).toFixed(2)} GPU hours`;
}
