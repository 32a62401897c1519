/** A decision as a few lines for people: what changed, what was measured, how the number came about. */
import type { DecisionRecord } from "../autoscaler/decision-log.ts";

export type { DecisionRecord } from "../autoscaler/decision-log.ts";

export function decisionInWords(record: DecisionRecord): string {
  const { at, from, to, trigger, reason } = record;
  const time = new Date(at).toISOString().slice(11, 23);
  const change = from === to ? `stays at ${pods(to)}` : `${from} to ${pods(to)}`;
  return [`${time}  ${change} (${trigger}): ${reason}`, measured(record), formula(record)].join(
    "\n",
  );
}

function measured({ explanation }: DecisionRecord): string {
  const { busy, waiting, aged, readyPods, livePods, load, resourcePercent, metric } = explanation;
  const use = resourcePercent === null ? "" : `, ${metric} ${shown(resourcePercent)} %`;
  return (
    `measured: ${busy} running, ${waiting} waiting (${aged} long enough to count), ` +
    `${readyPods} of ${pods(livePods)} ready, mean ${shown(load.mean.concurrency)} in flight, ` +
    `${shown(load.mean.rate)} arrivals/s${use}`
  );
}

function formula({ explanation }: DecisionRecord): string {
  const { activators } = explanation;
  const served = activators === undefined ? "" : `; served by up to ${activators} activators`;
  return scaleFormula(explanation) + served;
}

function scaleFormula(explanation: DecisionRecord["explanation"]): string {
  const { load, bounds, want, replicas, limits, kpa } = explanation;
  if (kpa !== null) {
    return `stock: stable ${shown(kpa.stable)}, panic ${shown(kpa.panic)}, desired ${kpa.desired}`;
  }
  const max = bounds.max === 0 ? "no limit" : String(bounds.max);
  const because = limits.length === 0 ? "" : `, limited by ${limits.join(", ")}`;
  const running = load.runningTerm > 0 ? `running ${load.runningTerm}, ` : "";
  return (
    `formula: window ${load.slow}, waiting ${load.waitingTerm}, ${running}burst ${load.burst}, ` +
    `buffer ${load.buffer}, target ${shown(load.targetValue)} per pod, ` +
    `bounds ${bounds.min} to ${max}: wants ${want}, gets ${replicas}${because}`
  );
}

function pods(count: number): string {
  return count === 1 ? "1 pod" : `${count} pods`;
}

function shown(value: number): string {
  return String(Number(value.toFixed(2)));
}
