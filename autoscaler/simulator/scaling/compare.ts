/** Several settings on the same trace and the same draws: cold starts, waiting, GPU time. */
import { readSettings } from "../../core/settings/settings.ts";
import type { ClusterDefaults } from "../../core/settings/defaults.ts";
import { PlatformError } from "../../../common/errors.ts";
import { simulateScaling } from "./simulate.ts";
import type { Arrival, ScalingResult } from "./types.ts";

export interface Variant {
  readonly name: string;
  /** Full keys, as in a service file. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly containerConcurrency?: number;
}

export interface Comparison {
  readonly arrivals: readonly Arrival[];
  readonly startTimesMs: readonly number[];
  readonly seed: number;
  readonly defaults: ClusterDefaults;
  readonly variants: readonly Variant[];
  /** Default: ten minutes after the last arrival. */
  readonly horizonMs?: number;
}

export interface ComparisonRow {
  readonly name: string;
  readonly result: ScalingResult;
}

const AFTER_LAST_MS = 600_000;

export function compareSettings(comparison: Comparison): readonly ComparisonRow[] {
  const { arrivals, startTimesMs, seed, defaults } = comparison;
  const horizonMs = comparison.horizonMs ?? (arrivals.at(-1)?.atMs ?? 0) + AFTER_LAST_MS;
  return comparison.variants.map((variant) => {
    const { annotations, containerConcurrency } = variant;
    const { settings, errors } = readSettings(
      { annotations, containerConcurrency, requestsGpu: true },
      defaults,
    );
    if (errors.length > 0) {
      throw new PlatformError("ERR_USAGE", `Variant ${variant.name}:\n${errors.join("\n")}`);
    }
    const scenario = { settings, defaults, arrivals, startTimesMs, seed, horizonMs };
    return { name: variant.name, result: simulateScaling(scenario) };
  });
}

const COLUMNS: readonly (readonly [title: string, (row: ComparisonRow) => string])[] = [
  ["settings", (row) => row.name],
  ["cold", ({ result }) => String(result.coldStarts)],
  ["wait p50 ms", ({ result }) => result.waitMs.p50.toFixed(0)],
  ["p95", ({ result }) => result.waitMs.p95.toFixed(0)],
  ["p99", ({ result }) => result.waitMs.p99.toFixed(0)],
  ["GPU s", ({ result }) => result.podSeconds.total.toFixed(0)],
  ["used", ({ result }) => result.podSeconds.used.toFixed(0)],
  ["idle", ({ result }) => result.podSeconds.idle.toFixed(0)],
  ["starting", ({ result }) => result.podSeconds.starting.toFixed(0)],
  ["starts", ({ result }) => String(result.podStarts)],
  ["peak", ({ result }) => String(result.peakPods)],
];

/** The rows as a table of plain text, numbers to the right. */
export function comparisonTable(rows: readonly ComparisonRow[]): string {
  const cells = [
    COLUMNS.map(([title]) => title),
    ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row))),
  ];
  const widths = COLUMNS.map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  const lines = cells.map((line) =>
    line
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}
