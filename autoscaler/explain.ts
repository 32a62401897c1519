/** A decision in one line of plain words, for the log, events and the reason on a scale request. */
import type { Explanation, Limit } from "./core/decision.ts";

const LIMIT_WORDS: Readonly<Record<Limit, string>> = {
  "min-scale": "min-scale asks for more",
  "max-scale": "max-scale allows no more",
  "cell-share": "this cell's share of max-scale allows no more",
  starting: "the start under way goes on",
  cooldown: "kept by the cooldown",
  "window-not-seen": "kept until a whole window was watched",
  retention: "the last pod is kept for its time",
  "failing-starts": "its starts fail",
  unreachable: "no route leads to it",
};

export function explainInWords(explanation: Explanation): string {
  const { load, metric, kpa } = explanation;
  if (kpa !== null) {
    const mode = kpa.panicking ? "panic" : "stable";
    return `stock ${mode}: stable ${shown(kpa.stable)}, panic ${shown(kpa.panic)}, desired ${kpa.desired}`;
  }
  const parts = [mainTerm(explanation)];
  if (load.buffer > 0) parts.push(`${load.buffer} more as buffer`);
  parts.push(...explanation.limits.map((limit) => LIMIT_WORDS[limit]));
  const saysItself = metric === "concurrency" || metric === "rps";
  return saysItself ? parts.join("; ") : `${metric}: ${parts.join("; ")}`;
}

/** The largest term of the demand, the one that decided. */
function mainTerm(explanation: Explanation): string {
  const { load } = explanation;
  if (load.demand === 0) return "nothing runs or waits";
  if (load.waitingTerm === load.demand) {
    return `${explanation.busy} running and ${explanation.aged} waiting need ${pods(load.waitingTerm)}`;
  }
  if (load.slow === load.demand) return slowTerm(explanation);
  if (load.runningTerm === load.demand) {
    return `${explanation.busy} running need ${pods(load.runningTerm)}`;
  }
  return `the burst of the last seconds needs ${pods(load.burst)}`;
}

function slowTerm({ load, metric, resourcePercent }: Explanation): string {
  const takes = `takes ${pods(load.slow)}`;
  if (metric === "rps") {
    return `an average of ${shown(load.mean.rate)} requests per second ${takes}`;
  }
  if (resourcePercent !== null) return `an average of ${shown(resourcePercent)} % ${takes}`;
  return `an average of ${shown(load.mean.concurrency)} in flight ${takes}`;
}

function shown(value: number): string {
  return String(Number(value.toFixed(2)));
}

function pods(count: number): string {
  return count === 1 ? "1 pod" : `${count} pods`;
}
