/**
 * One call with a rank, from its estimate to its entry in the log: what it tells the store, the
 * sidecar and its caller. A store that does not answer costs it its rank, never the call.
 */
import type { LoggedCall } from "../common/contracts/call-log.ts";
import { formatCallNote } from "../common/contracts/call-note.ts";
import {
  CALL_HEADER,
  ORDER_HEADER,
  TENANT_HEADER,
  WARNING_HEADER,
} from "../common/contracts/headers.ts";
import type { WorkflowHeaders } from "../common/contracts/workflow-headers.ts";
import {
  SCHED_ESTIMATE_HEADER,
  SCHED_LATEST_START_HEADER,
  SCHED_QUEUE_HEADER,
  WORKFLOW_DEADLINE_HEADER,
} from "../common/contracts/workflow-headers.ts";
import type { CallEstimate } from "../common/hexgen/call-estimate.ts";
import { estimateCall, ownValue } from "../common/hexgen/call-estimate.ts";
import { roundHalfUp } from "../common/hexgen/cost.ts";
import type { ClassKnowledge } from "../common/hexgen/knowledge.ts";
import type { ModelBody } from "../common/hexgen/model-body.ts";
import { formatOrderHeader, hopelessAfter } from "../common/urgency.ts";
import type { CallDetails, CallPlan, Lease, OwnObjective } from "../store/types.ts";
import type { CallArrival, CallDeskParts } from "./call-desk.ts";
import type { CallNames } from "./core/call-facts.ts";
import { namesOf, NO_BODY, readBody, readWorkflow } from "./core/call-facts.ts";
import { withHeader } from "./core/forward-headers.ts";
import { formatHopPlan, readHopPlan } from "./core/hop-plan.ts";
import type { CarriedRank } from "./core/hop.ts";
import type { DeclaredSlo, OpeningRequest } from "./core/open-request.ts";
import { openRequest, sloOf } from "./core/open-request.ts";
import { weightOf } from "./core/tenants.ts";
import type { LastCall } from "./core/warm-targets.ts";
import { warmPods } from "./core/warm-targets.ts";
import type { WeighedCall } from "./core/weigh-call.ts";
import { weighCall } from "./core/weigh-call.ts";

const US_PER_MS = 1_000;

export interface CallEnd {
  readonly status: number;
  readonly queueMs: number;
  readonly serviceMs: number;
}

export class RankedCall {
  readonly #parts: CallDeskParts;
  readonly #arrival: CallArrival;
  readonly #headers: WorkflowHeaders;
  readonly #names: CallNames;
  readonly #body: ModelBody;
  readonly #tenant: string;
  readonly #class: ClassKnowledge | undefined;
  readonly #estimate: CallEstimate;
  #plan: CallPlan | OwnObjective | undefined;
  #weighed: WeighedCall | undefined;
  #isOpen = false;
  readonly #beganAt: number;
  #lease: Lease | undefined;

  constructor(parts: CallDeskParts, arrival: CallArrival, body: Buffer | null) {
    const { head, caller, entry, config } = arrival;
    this.#parts = parts;
    this.#arrival = arrival;
    this.#headers = readWorkflow(head, caller);
    this.#names = namesOf(this.#headers, head, arrival.requestId);
    const isBelieved = parts.tenants.gateways.isTrusted(head.remoteAddress);
    const named = isBelieved ? (this.#headers.tenant ?? "") : "";
    this.#tenant = arrival.hop?.headers.tenant ?? named;
    this.#beganAt = parts.clock.now();
    const { stage, workflowClass } = this.#names;
    const seen = readBody(head, caller.contentType, body);
    this.#body = seen ?? NO_BODY;
    this.#class = parts.knowledge.ofClass(config.namespace, workflowClass);
    this.#estimate = estimateCall(
      { body: seen, stage, outputHint: this.#headers.outputTokensHint },
      parts.knowledge.ofRevision(entry.key),
      this.#class === undefined ? undefined : ownValue(this.#class.stages, stage),
    );
  }

  /** Takes its place in its workflow; a call of its own has one by its objective alone. */
  async open(): Promise<void> {
    const { config, hop } = this.#arrival;
    if (hop !== undefined) {
      this.#plan = readHopPlan(hop.headers.plan, this.#nowUs());
      return this.#weigh(undefined);
    }
    const slo = sloOf(this.#headers, config, this.#estimate.outputTokens);
    if (this.#names.workflow === "") {
      this.#plan = { sloUs: slo.sloUs, restUs: this.#estimate.meanUs };
      return this.#weigh(undefined);
    }
    this.#weigh(await this.#openInWorkflow(slo));
  }

  /** The workflow's last call; undefined when the store does not answer. */
  async #openInWorkflow(slo: DeclaredSlo): Promise<LastCall | undefined> {
    const { workflows, logger } = this.#parts;
    try {
      const opened = await workflows.openCall(this.#openRequest(slo));
      this.#plan = opened.plan;
      this.#isOpen = true;
      if (opened.open === 1 && opened.plan.readyAt === opened.plan.workflowArrivedAt)
        this.#announce();
      return { targetUid: opened.lastTarget, fingerprints: opened.lastFingerprints };
    } catch (error) {
      // It runs without a rank: late in the queue, but it runs.
      logger.debug("workflow not opened", { revision: this.#arrival.entry.key, error });
      return undefined;
    }
  }

  /** Only a choice by speed can weigh what a pod holds. */
  #weigh(last: LastCall | undefined): void {
    const { fingerprints } = this.#body;
    const { entry, config } = this.#arrival;
    if (config.policy !== "speed-aware") return;
    const { prefixesOf, clock, knowledge } = this.#parts;
    const remembered = prefixesOf(entry).find(fingerprints, clock.now());
    this.#weighed = weighCall({
      rule: config.dispatchRule ?? "wb",
      body: this.#body,
      estimate: this.#estimate,
      revision: knowledge.ofRevision(entry.key),
      known: this.#class,
      warm: this.#estimate.workUs.size === 0 ? [] : warmPods(remembered, fingerprints, last),
    });
  }

  /** What the store ranks and weighs it by. */
  get details(): CallDetails {
    const { promptTokens } = this.#estimate;
    const { workUs, weights, warm = [] } = this.#weighed ?? this.#estimateAlone();
    const { caller } = this.#arrival;
    return {
      ...(this.#plan === undefined ? {} : { plan: this.#plan }),
      ...(workUs.size === 0 ? {} : { workUs }),
      ...(weights === undefined ? {} : { weights }),
      ...(warm.length === 0 ? {} : { warm }),
      ...(promptTokens < 0 ? {} : { promptTokens }),
      ...(this.#tenant === ""
        ? {}
        : { tenant: { name: this.#tenant, weight: weightOf(this.#parts.tenants, this.#tenant) } }),
      ...(caller.rejectLate.toLowerCase() === "true" ? { rejectLate: true } : {}),
    };
  }

  /** What another cell needs of it: its state stays here. */
  carried(): CarriedRank {
    const nowUs = this.#nowUs();
    const spentUs = nowUs - this.#beganAt * US_PER_MS;
    const plan = this.#plan === undefined ? "" : formatHopPlan(this.#plan, { nowUs, spentUs });
    return { tenant: this.#tenant, plan };
  }

  /** The activators of a cell and its store tell about the same time. */
  #nowUs(): number {
    return this.#parts.clock.now() * US_PER_MS;
  }

  /** From which time after its arrival at the store on it would come too late; infinity for most. */
  rejectAfterMs(arrivedAtUs: number): number {
    if (this.details.rejectLate !== true || this.#plan === undefined) return Infinity;
    const deadlineAt = this.#deadlineAt(arrivedAtUs);
    if (deadlineAt === 0) return Infinity;
    return (hopelessAfter(deadlineAt, this.#plan.restUs) - arrivedAtUs) / US_PER_MS;
  }

  /** Adds what the sidecar orders and measures by. */
  attemptHeaders(headers: readonly string[], lease: Lease): readonly string[] {
    this.#lease = lease;
    const { prefixesOf, clock } = this.#parts;
    const { fingerprints } = this.#body;
    prefixesOf(this.#arrival.entry).sent(fingerprints, lease.targetUid, clock.now());
    const result = [...headers, CALL_HEADER, this.#note()];
    if (this.#tenant !== "") result.push(TENANT_HEADER, this.#tenant);
    if (lease.order === undefined) return result;
    const { orderClass, keyUs } = lease.order;
    const order = { orderClass, key: keyUs / US_PER_MS, sequence: lease.arrivedAt };
    result.push(ORDER_HEADER, formatOrderHeader(order));
    const deadlineAt = this.#deadlineAt(lease.arrivedAt);
    if (this.#arrival.config.queueOrder !== "urgency" || deadlineAt === 0) return result;
    const deadlineMs = String(roundHalfUp(deadlineAt / US_PER_MS));
    return withHeader(result, WORKFLOW_DEADLINE_HEADER, deadlineMs);
  }

  /** On its answer: what was not understood, and where debug is wanted how it was scheduled. */
  answerHeaders(wantsDebug: boolean, queueMs: number): readonly string[] {
    const { malformed } = this.#headers;
    const warning =
      malformed.length === 0 ? [] : [WARNING_HEADER, `ignored: ${malformed.join(", ")}`];
    return wantsDebug ? [...warning, ...this.#debugHeaders(queueMs)] : warning;
  }

  #debugHeaders(queueMs: number): readonly string[] {
    const workUs = this.#expectedUs();
    const headers = [SCHED_ESTIMATE_HEADER, ms(workUs), SCHED_QUEUE_HEADER, queueMs.toFixed(1)];
    const plan = this.#plan;
    if (plan !== undefined && "readyAt" in plan && plan.deadlineAt > 0) {
      headers.push(SCHED_LATEST_START_HEADER, ms(plan.readyAt + plan.budgetUs - workUs));
    }
    return headers;
  }

  /** The request is over, whatever became of it. */
  ended(end: CallEnd): void {
    this.#close();
    if (end.status === 0) return;
    const { log } = this.#parts;
    log.add(this.#arrival.entry.key, this.#logged(end));
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { workflows, logger } = this.#parts;
    workflows
      .closeCall({
        workflow: this.#workflowKey(),
        callId: this.#names.callId,
        targetUid: this.#lease?.targetUid ?? "",
        fingerprints: this.#body.fingerprints,
        isFinal: this.#names.isFinal,
      })
      // Its state ends by its own time.
      .catch((error: unknown) => logger.debug("workflow call not closed", { error }));
  }

  #logged(end: CallEnd): LoggedCall {
    const { workflow, workflowClass, stage, stageIndex, isFinal } = this.#names;
    return {
      kind: "call",
      workflow,
      tenant: this.#tenant,
      workflowClass,
      stage,
      stageIndex,
      isFinal,
      model: this.#body.model,
      ...this.#instants(),
      sloUs: this.#sloUs(),
      promptTokens: this.#estimate.promptTokens,
      outputTokens: this.#estimate.outputTokens,
      expectedUs: this.#expectedUs(),
      ...end,
      endedAt: roundHalfUp(this.#parts.clock.now() * US_PER_MS),
    };
  }

  #instants(): Pick<LoggedCall, "workflowArrivedAt" | "readyAt"> {
    const plan = this.#plan;
    if (plan !== undefined && "readyAt" in plan) return plan;
    const arrivedAt = this.#lease?.arrivedAt ?? 0;
    return { workflowArrivedAt: arrivedAt, readyAt: arrivedAt };
  }

  /** Under `batch` the store counts engine time, which is less than what the call takes. */
  #expectedUs(): number {
    const isSolo = this.#arrival.config.dispatchRule !== "batch";
    return (isSolo ? this.#lease?.workUs : undefined) ?? this.#estimate.meanUs;
  }

  #estimateAlone(): Partial<WeighedCall> & Pick<WeighedCall, "workUs"> {
    return { workUs: this.#estimate.workUs };
  }

  #sloUs(): number {
    const plan = this.#plan;
    if (plan === undefined) return 0;
    if ("sloUs" in plan) return plan.sloUs;
    return plan.deadlineAt === 0 ? 0 : plan.deadlineAt - plan.workflowArrivedAt;
  }

  /** Server time; 0 when there is none. */
  #deadlineAt(arrivedAtUs: number): number {
    const plan = this.#plan;
    if (plan === undefined) return 0;
    if ("deadlineAt" in plan) return plan.deadlineAt;
    return plan.sloUs === 0 ? 0 : arrivedAtUs + plan.sloUs;
  }

  #openRequest(slo: DeclaredSlo): OpeningRequest {
    return openRequest({
      workflow: this.#workflowKey(),
      names: this.#names,
      remaining: this.#headers.remaining,
      fanout: this.#headers.fanout,
      slo,
      estimate: this.#estimate,
      known: this.#class,
      declared: this.#arrival.config.stages ?? [],
    });
  }

  #workflowKey(): { namespace: string; tenant: string; id: string } {
    const { namespace } = this.#arrival.config;
    return { namespace, tenant: this.#tenant, id: this.#names.workflow };
  }

  /** For the sidecar. */
  #note(): string {
    const { characters, messages, model } = this.#body;
    const { stage, workflowClass } = this.#names;
    const { promptTokens } = this.#estimate;
    const serviceUs = this.#expectedUs();
    return formatCallNote({
      promptTokens,
      serviceUs,
      characters,
      messages,
      model,
      stage,
      workflowClass,
    });
  }

  /** For the dashboard's list. */
  #announce(): void {
    const { knowledgeStore, clock } = this.#parts;
    const { workflowClass } = this.#names;
    void knowledgeStore
      .noteWorkflow({ ...this.#workflowKey(), workflowClass, at: clock.now() })
      // Only the list misses it.
      .catch(() => {});
  }
}

function ms(us: number): string {
  return (us / US_PER_MS).toFixed(1);
}
