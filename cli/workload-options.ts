/** What `simulate` and `plan` run: a trace that is generated, read from a file, or recorded from a service. */
import { readFile, writeFile } from "node:fs/promises";
import { arrivalsFromLog, formatTrace } from "../autoscaler/simulator/scaling/recording.ts";
import { SIMULATED_DEFAULTS } from "../autoscaler/simulator/scaling/plan.ts";
import type { Workload } from "../autoscaler/simulator/scaling/plan.ts";
import { SHAPES, shapeTrace } from "../autoscaler/simulator/scaling/shapes.ts";
import { parseTrace } from "../autoscaler/simulator/scaling/traces.ts";
import type { Arrival } from "../autoscaler/simulator/scaling/types.ts";
import { parseTime } from "../autoscaler/simulator/scaling/words.ts";
import { PlatformError } from "../common/errors.ts";
import { openRunReader, serviceAnnotations } from "../local/run-reader.ts";
import type { RunReader } from "../local/run-reader.ts";
import { RUN_FOLDER_OPTION } from "./command.ts";
import type { CommandContext, OptionHelp, ParsedOptions } from "./command.ts";
import { findPlatform, findService, readStatus } from "./run-client.ts";
import { formatDuration } from "./table.ts";

export const WORKLOAD_OPTIONS: Readonly<Record<string, OptionHelp>> = {
  trace: { type: "string", value: "FILE", help: "arrivals from a CSV: atMs,serviceMs" },
  shape: { type: "string", value: "NAME", help: `arrivals made up: ${SHAPES.join(", ")}` },
  rate: { type: "string", value: "N", help: "most arrivals per second of a shape (default 1)" },
  duration: { type: "string", value: "TIME", help: "length of a shape (default 30m)" },
  "service-time": { type: "string", value: "TIME", help: "work of one request (default 2s)" },
  record: { type: "string", value: "TIME", help: "how long to record a service (default 60s)" },
  save: { type: "string", value: "FILE", help: "write the arrivals to a CSV" },
  "start-time": {
    type: "string",
    value: "TIMES",
    help: "starts of pods, e.g. 8s,12s (default: as measured, else 10s)",
  },
  concurrency: {
    type: "string",
    value: "N",
    help: "requests that a pod takes at once (default: the service's, else 1)",
  },
  seed: { type: "string", value: "N", help: "of all dice (default 1)" },
  ...RUN_FOLDER_OPTION,
};

const DEFAULT_START_MS = 10_000;

export async function readWorkload(context: CommandContext): Promise<Workload> {
  const { options, positionals } = context;
  const [name] = positionals;
  const made = await givenArrivals(options);
  const service = name === undefined ? NO_SERVICE : await readRunning(context, name, made === null);
  const arrivals = checked(made ?? service.arrivals);
  const save = options.text("save");
  if (save !== undefined) await writeFile(save, formatTrace(arrivals));
  return {
    arrivals,
    startTimesMs: startTimes(options) ?? service.startTimesMs,
    containerConcurrency: count(options, "concurrency", service.containerConcurrency),
    annotations: service.annotations,
    seed: count(options, "seed", 1),
    defaults: SIMULATED_DEFAULTS,
  };
}

function checked(arrivals: readonly Arrival[] | null): readonly Arrival[] {
  if (arrivals === null) {
    const cure = "name a running service, or give --trace or --shape.";
    throw new PlatformError("ERR_USAGE", `Say which arrivals: ${cure}`);
  }
  if (arrivals.length === 0) throw new PlatformError("ERR_USAGE", "The trace has no arrivals.");
  return arrivals;
}

async function givenArrivals(options: ParsedOptions): Promise<readonly Arrival[] | null> {
  const [file, shape] = [options.text("trace"), options.text("shape")];
  if (file !== undefined && shape !== undefined) {
    throw new PlatformError("ERR_USAGE", "--trace and --shape are two traces: give one.");
  }
  if (file !== undefined) return parseTrace(await readTraceFile(file));
  if (shape === undefined) return null;
  const known = SHAPES.find((candidate) => candidate === shape);
  if (known === undefined) {
    throw new PlatformError("ERR_USAGE", `No shape ${shape}. Known: ${SHAPES.join(", ")}.`);
  }
  return shapeTrace(known, {
    peakRate: positive(options, "rate", 1),
    durationMs: parseTime(options.text("duration") ?? "30m", "--duration"),
    serviceMs: parseTime(options.text("service-time") ?? "2s", "--service-time"),
    seed: count(options, "seed", 1),
  });
}

async function readTraceFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new PlatformError("ERR_USAGE", `The trace ${file} cannot be read.`, { cause });
  }
}

interface RunningService {
  /** `null` when none were recorded. */
  readonly arrivals: readonly Arrival[] | null;
  readonly startTimesMs: readonly number[];
  readonly containerConcurrency: number;
  readonly annotations: Readonly<Record<string, string>>;
}

const NO_SERVICE: RunningService = {
  arrivals: null,
  startTimesMs: [DEFAULT_START_MS],
  containerConcurrency: 1,
  annotations: {},
};

async function readRunning(
  context: CommandContext,
  name: string,
  records: boolean,
): Promise<RunningService> {
  const platform = await findPlatform(context);
  const service = findService(await readStatus(platform), name);
  // The revision with most of the traffic; the newest of equals.
  const [revision] = service.revisions
    .toReversed()
    .toSorted((left, right) => right.percent - left.percent);
  if (revision === undefined) throw new PlatformError("ERR_USAGE", `${name} has no revision yet.`);
  const reader = await openRunReader(platform.run);
  try {
    const starts = await reader.startTimes(revision.key);
    return {
      arrivals: records ? await recordArrivals(context, reader, revision.key) : null,
      startTimesMs: starts.length > 0 ? starts : [DEFAULT_START_MS],
      containerConcurrency: revision.containerConcurrency,
      annotations: await serviceAnnotations(service.file, service.key),
    };
  } finally {
    await reader.close();
  }
}

async function recordArrivals(
  context: CommandContext,
  reader: RunReader,
  key: Parameters<RunReader["record"]>[0],
): Promise<readonly Arrival[]> {
  const durationMs = parseTime(context.options.text("record") ?? "60s", "--record");
  context.out.note(`Recording ${key} for ${formatDuration(durationMs)}; Ctrl-C ends it early.`);
  const stop = new AbortController();
  const ignore = context.onSignal(() => stop.abort());
  try {
    const { events, sinceUs } = await reader.record(key, durationMs, stop.signal);
    const arrivals = arrivalsFromLog(events, sinceUs);
    context.out.note(`Recorded ${arrivals.length} requests.`);
    return arrivals;
  } finally {
    ignore();
  }
}

function startTimes(options: ParsedOptions): readonly number[] | undefined {
  const text = options.text("start-time");
  return text?.split(",").map((part) => parseTime(part.trim(), "--start-time"));
}

function count(options: ParsedOptions, name: string, fallback: number): number {
  const text = options.text(name);
  if (text === undefined) return fallback;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new PlatformError("ERR_USAGE", `--${name} ${text} is no whole number`);
}

function positive(options: ParsedOptions, name: string, fallback: number): number {
  const text = options.text(name);
  const value = text === undefined ? fallback : Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new PlatformError("ERR_USAGE", `--${name} ${text ?? ""} is no number above 0`);
}
