/**
 * The recent past as the tuner replays it: workflows with their calls and objectives, the pool as it
 * stands, and how well the objectives were kept.
 */
import type { LoggedCall } from "../../../common/contracts/call-log.ts";
import { profileOf } from "../../../common/hexgen/call-estimate.ts";
import type { CardProfile } from "../../../common/hexgen/cost.ts";
import { knownCard } from "../../../common/hexgen/known-cards.ts";
import type { RevisionKnowledge } from "../../../common/hexgen/knowledge.ts";

const TEN_MINUTES_US = 600e6;
const MOST_WORKFLOWS = 200;
/** Of a card whose cache nobody knows: it never fills. */
const ROOMY_CACHE = 1e9;
const TAIL = 95;

export interface WindowCall {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface WindowWorkflow {
  readonly arrivedAtUs: number;
  /** 0 for none. */
  readonly sloUs: number;
  readonly latencyUs: number;
  readonly isFinished: boolean;
  readonly workflowClass: string;
  readonly stages: readonly { readonly stage: string; readonly calls: readonly WindowCall[] }[];
}

export interface WindowCard {
  readonly name: string;
  readonly profile: CardProfile;
  readonly kvTokens: number;
}

/** Workflows of the last ten minutes, or the last two hundred when those are more; by arrival. */
export function windowOf(calls: readonly LoggedCall[], nowUs: number): WindowWorkflow[] {
  const groups = new Map<string, LoggedCall[]>();
  for (const call of calls) {
    // A call of its own is a workflow of one stage.
    const key = call.workflow === "" ? `${groups.size}` : `${call.tenant}/${call.workflow}`;
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    group.push(call);
  }
  const workflows = [...groups.values()]
    .map(workflowOf)
    .toSorted((left, right) => left.arrivedAtUs - right.arrivedAtUs);
  const recent = workflows.filter(({ arrivedAtUs }) => nowUs - arrivedAtUs <= TEN_MINUTES_US);
  return recent.length >= MOST_WORKFLOWS ? recent : workflows.slice(-MOST_WORKFLOWS);
}

function workflowOf(calls: readonly LoggedCall[]): WindowWorkflow {
  const stages = new Map<number, { stage: string; calls: WindowCall[] }>();
  let endedAt = 0;
  let arrivedAtUs = Infinity;
  for (const call of calls) {
    const entry = stages.get(call.stageIndex) ?? { stage: call.stage, calls: [] };
    stages.set(call.stageIndex, entry);
    entry.calls.push({
      inputTokens: Math.max(call.promptTokens, 1),
      outputTokens: Math.max(call.outputTokens, 1),
    });
    endedAt = Math.max(endedAt, call.endedAt);
    arrivedAtUs = Math.min(arrivedAtUs, call.workflowArrivedAt);
  }
  const [first] = calls;
  return {
    arrivedAtUs,
    sloUs: first?.sloUs ?? 0,
    latencyUs: Math.max(endedAt - arrivedAtUs, 0),
    isFinished: calls.some(({ isFinal, workflow }) => isFinal || workflow === ""),
    workflowClass: first?.workflowClass ?? "",
    stages: [...stages].toSorted(([left], [right]) => left - right).map(([, stage]) => stage),
  };
}

/** 95th percentile of latency over objective; `NaN` when no finished workflow had one. */
export function observedTail(workflows: readonly WindowWorkflow[]): number {
  const ratios = workflows
    .filter(({ isFinished, sloUs }) => isFinished && sloUs > 0)
    .map(({ latencyUs, sloUs }) => latencyUs / sloUs)
    .toSorted((left, right) => left - right);
  return ratios[Math.floor((TAIL * ratios.length) / 100)] ?? Number.NaN;
}

/** One card per ready target; those of unknown speed are left out, since nobody can replay them. */
export function poolOf(knowledge: RevisionKnowledge): WindowCard[] {
  return Object.entries(knowledge.pool).flatMap(([name, count]) => {
    const profile = profileOf(knowledge, name);
    if (profile === undefined) return [];
    const kvTokens = knownCard(name)?.kvTokens ?? ROOMY_CACHE;
    return Array.from({ length: count }, () => ({ name, profile, kvTokens }));
  });
}
