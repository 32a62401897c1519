/** A decision in one line of plain words, for the log, events and the reason on a scale request. */
import type { Explanation, Limit } from "./core/decision.ts";

const LIMIT_WORDS: Readonly<Record<Limit, string>> = {
  "min-scale": "raised to the lower bound",
  "max-scale": "cut at the upper bound",
  starting: "a start is under way",
  cooldown: "held by the cooldown",
  "window-not-seen": "held until a full window is seen",
  retention: "last pod retained",
  "failing-starts": "starts fail",
  unreachable: "no route references the revision",
};

export function explainInWords(explanation: Explanation): string {
  const { load, metric, kpa } = explanation;
  if (kpa !== null) {
    const mode = kpa.panicking ? "panic" : "stable";
    return `stock ${mode}: stable ${shown(kpa.stable)}, panic ${shown(kpa.panic)}, desired ${kpa.desired}`;
  }
  const parts = [mainTerm(explanation)];
  if (load.buffer > 0) parts.push(`${load.buffer} in the buffer`);
  parts.push(...explanation.limits.map((limit) => LIMIT_WORDS[limit]));
  return metric === "concurrency" ? parts.join("; ") : `${metric}: ${parts.join("; ")}`;
}

/** The largest term of the demand, the one that decided. */
function mainTerm(explanation: Explanation): string {
  const { load } = explanation;
  if (load.demand === 0) return "no demand";
  if (load.waitingTerm === load.demand) {
    return `${explanation.busy} running and ${explanation.aged} waiting need ${load.waitingTerm}`;
  }
  if (load.slow === load.demand) return slowTerm(explanation);
  if (load.runningTerm === load.demand) {
    return `${explanation.busy} running need ${load.runningTerm}`;
  }
  return `burst needs ${load.burst}`;
}

function slowTerm({ load, metric, resourcePercent }: Explanation): string {
  const mean = metric === "rps" ? load.mean.rate : (resourcePercent ?? load.mean.concurrency);
  return `mean ${shown(mean)} over the window needs ${load.slow}`;
}

function shown(value: number): string {
  return String(Number(value.toFixed(2)));
}
