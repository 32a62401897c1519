/** `pilotlight simulate`: several settings on the same arrivals, on virtual time. */
import { runWorkload } from "../../autoscaler/simulator/scaling/plan.ts";
import type { Annotations } from "../../autoscaler/simulator/scaling/search.ts";
import type { ScalingResult } from "../../autoscaler/simulator/scaling/types.ts";
import { fullKey, parseAnnotations } from "../../autoscaler/simulator/scaling/words.ts";
import { PlatformError } from "../../common/errors.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext } from "../command.ts";
import { formatColumns } from "../table.ts";
import { readWorkload, WORKLOAD_OPTIONS } from "../workload-options.ts";

const SECONDS_PER_HOUR = 3_600;

interface Variant {
  readonly name: string;
  readonly annotations: Annotations;
}

export const simulate: Command = {
  name: "simulate",
  summary: "compare scaling settings on recorded or made-up arrivals",
  usage: "[SERVICE] [--shape NAME | --trace FILE] [--with KEY=VALUE,...]",
  mostArguments: 1,
  options: {
    with: {
      type: "string",
      multiple: true,
      value: "SETTINGS",
      help: "settings to compare, e.g. window=60s,cooldown=1m; may be repeated",
    },
    price: { type: "string", value: "N", help: "of a GPU hour; adds a column with the cost" },
    ...WORKLOAD_OPTIONS,
  },
  details:
    "Runs the platform's own decisions on virtual time over the same arrivals: as the service has\n" +
    "them (or the defaults), the stock algorithm (kpa), and each --with. Same seed, same bytes.\n" +
    "With SERVICE alone the arrivals are recorded from the running platform.",
  examples: [
    "pilotlight simulate --shape bursts --rate 5 --with scaling-buffer=1 --with cooldown=2m",
    "pilotlight simulate ocr --record 5m --save ocr.csv",
    "pilotlight simulate --trace ocr.csv --start-time 8s,12s --price 2.5 --json",
  ],
  run: async (context) => {
    const variants = variantsOf(context);
    const price = priceOf(context);
    const workload = await readWorkload(context);
    const rows = variants.map(({ name, annotations }) => {
      const { scale: _scale, ticks: _ticks, ...result } = runWorkload(workload, annotations);
      const cost = price === null ? null : (result.podSeconds.total / SECONDS_PER_HOUR) * price;
      return { name, annotations, ...result, cost };
    });
    const asJson = context.options.flag("json");
    context.out.print(asJson ? JSON.stringify(rows, null, 2) : resultTable(rows));
    return EXIT.ok;
  },
};

function variantsOf({ options }: CommandContext): readonly Variant[] {
  return [
    { name: "as it is", annotations: {} },
    { name: "kpa", annotations: { [fullKey("algorithm")]: "kpa" } },
    ...options.texts("with").map((text) => ({ name: text, annotations: parseAnnotations(text) })),
  ];
}

function priceOf({ options }: CommandContext): number | null {
  const text = options.text("price");
  if (text === undefined) return null;
  const price = Number(text);
  if (Number.isFinite(price) && price >= 0) return price;
  throw new PlatformError("ERR_USAGE", `--price ${text} is no price`);
}

type Row = Omit<ScalingResult, "scale" | "ticks"> & {
  readonly name: string;
  readonly cost: number | null;
};

/** Times in seconds. */
function resultTable(rows: readonly Row[]): string {
  const withCost = rows.some(({ cost }) => cost !== null);
  const head = ["SETTINGS", "COLD", "WAIT P50", "P95", "P99", "GPU S", "USED", "IDLE", "STARTING"];
  const lines = rows.map(({ name, coldStarts, waitMs, podSeconds, cost }) => [
    name,
    String(coldStarts),
    ...[waitMs.p50, waitMs.p95, waitMs.p99].map((ms) => `${(ms / 1_000).toFixed(2)} s`),
    ...[podSeconds.total, podSeconds.used, podSeconds.idle, podSeconds.starting].map((seconds) =>
      seconds.toFixed(0),
    ),
    ...(cost === null ? [] : [cost.toFixed(2)]),
  ]);
  return formatColumns([withCost ? [...head, "COST"] : head, ...lines]);
}
