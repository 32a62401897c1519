/**
 * What the store is told when a call of a workflow opens: its stage, the objective that its caller
 * declared, and the stages still expected, with their times.
 */
import type { RevisionConfig } from "../../common/contracts/routing.ts";
import type { WorkflowHeaders } from "../../common/contracts/workflow-headers.ts";
import type { CallEstimate } from "../../common/hexgen/call-estimate.ts";
import { stageUs } from "../../common/hexgen/call-estimate.ts";
import { roundHalfUp } from "../../common/hexgen/cost.ts";
import type { ClassKnowledge } from "../../common/hexgen/knowledge.ts";

const US_PER_MS = 1_000;
/** Nobody may ask for less than this many times the time of the workflow alone (7.5 of the rules). */
const LEAST_SLO_OVER_SOLO = 1.2;

export interface DeclaredSlo {
  /** End to end; 0 for none. */
  readonly sloUs: number;
  /** Instant that the caller named; 0 for none. */
  readonly deadlineAt: number;
}

/** What the caller declared, else the objective of the service. */
export function sloOf(
  headers: WorkflowHeaders,
  config: Pick<RevisionConfig, "sloMs">,
  outputTokens: number,
): DeclaredSlo {
  const deadlineAt = (headers.deadlineAt ?? 0) * US_PER_MS;
  const sloMs = headers.sloMs ?? tokenSloMs(headers, outputTokens);
  if (sloMs !== undefined) return { sloUs: roundHalfUp(sloMs * US_PER_MS), deadlineAt };
  if (deadlineAt > 0) return { sloUs: 0, deadlineAt };
  return { sloUs: roundHalfUp((config.sloMs ?? 0) * US_PER_MS), deadlineAt: 0 };
}

/** An inference gateway's objectives: of the first token and of each further one. */
function tokenSloMs(headers: WorkflowHeaders, outputTokens: number): number | undefined {
  const { firstTokenSloMs, perTokenSloMs } = headers;
  if (firstTokenSloMs === undefined && perTokenSloMs === undefined) return undefined;
  return (firstTokenSloMs ?? 0) + (perTokenSloMs ?? 0) * outputTokens;
}

/** As the store's `WorkflowKey`. */
interface Key {
  readonly namespace: string;
  readonly tenant: string;
  readonly id: string;
}

interface Stage {
  readonly stage: string;
  readonly optional: boolean;
  readonly probability: number;
}

export interface OpeningFacts {
  readonly workflow: Key;
  readonly names: { readonly callId: string; readonly stage: string; readonly stageIndex: number };
  readonly remaining: WorkflowHeaders["remaining"];
  readonly fanout: WorkflowHeaders["fanout"];
  readonly slo: DeclaredSlo;
  readonly estimate: CallEstimate;
  readonly known: ClassKnowledge | undefined;
  /** Of the service, for a class without history. */
  readonly declared: NonNullable<RevisionConfig["stages"]>;
}

/** As the store's `OpenCallRequest`. */
export interface OpeningRequest extends DeclaredSlo {
  readonly workflow: Key;
  readonly callId: string;
  readonly stage: string;
  readonly stageIndex: number;
  readonly stageUs: number;
  readonly leastSloUs: number;
  readonly mayExtend: boolean;
  readonly template: readonly (Stage & { readonly workUs: number })[];
  readonly remaining?: readonly (Stage & { readonly workUs: number })[];
  readonly fanout?: number;
}

export function openRequest(facts: OpeningFacts): OpeningRequest {
  const { workflow, slo, estimate, known, declared, remaining, fanout } = facts;
  const { callId, stage, stageIndex } = facts.names;
  const withTime = (entry: Stage): Stage & { workUs: number } => ({
    ...entry,
    workUs: stageUs(entry.stage, known, declared),
  });
  const template = (known?.template ?? declaredTemplate(declared)).map(withTime);
  const ownUs = stageUs(stage, known, declared) || estimate.meanUs;
  const soloUs = template.reduce((sum, entry) => sum + entry.probability * entry.workUs, 0);
  return {
    workflow,
    callId,
    stage,
    stageIndex,
    stageUs: ownUs,
    ...slo,
    leastSloUs: workflow.tenant === "" ? 0 : roundHalfUp(LEAST_SLO_OVER_SOLO * soloUs),
    mayExtend: false,
    template,
    ...(remaining === undefined ? {} : { remaining: remaining.map(withTime) }),
    ...(fanout === undefined ? {} : { fanout: fanout.of }),
  };
}

function declaredTemplate(declared: OpeningFacts["declared"]): Stage[] {
  return declared.map(({ name }) => ({ stage: name, optional: false, probability: 1 }));
}
