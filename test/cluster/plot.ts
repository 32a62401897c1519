/** The rows that have a figure of stock's beside them as one picture: ours as a share of stock's. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { barChart } from "../../bench/hexgen/svg.ts";
import type { Row } from "../../foundation/report.ts";
import { ROOT } from "../../scripts/cluster/layout.ts";

export const PLOT = "bench/results/cluster-ratios.svg";

const NAMES: Readonly<Record<string, string>> = {
  "cluster.coldstart.p50.over_stock": "cold p50",
  "cluster.coldstart.p95.over_stock": "cold p95",
  "cluster.ready_to_dispatch.p50.over_stock": "to dispatch",
  "cluster.pods_for_one_request": "pods",
  "cluster.crashed.failed_undelivered": "crashes",
  "cluster.node_cut.slow": "node cut",
  "cluster.two_activators.waited_beside_idle": "idle pod",
};

/** Draws what can be drawn: a share of nothing is nothing. */
export function drawRatios(rows: readonly Row[]): void {
  const shown = rows.flatMap(({ id, value, peerValue = 0 }) =>
    NAMES[id] === undefined || value === null || peerValue === 0
      ? []
      : [{ name: NAMES[id], share: value / peerValue }],
  );
  if (shown.length === 0) return;
  const picture = barChart({
    title: "test:cluster: ours over stock Knative",
    yLabel: "ratio, less is better",
    groups: shown.map(({ name }) => name),
    bars: [{ name: "Pilotlight", values: shown.map(({ share }) => share) }],
    mark: { name: "stock", value: 1 },
  });
  const file = join(ROOT, PLOT);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, picture);
}
