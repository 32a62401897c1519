/**
 * Runs one scenario on virtual time, in whole us. The rules (cost, dispatch, budgets, orders,
 * queue) are the product's own; this file only moves time. Within one instant: cards whose action
 * ends, in pool order; then the stages that became ready, in that order; then arrivals.
 */
import { serviceUs } from "../../../common/hexgen/cost.ts";
import { WaitingQueue } from "../../../common/hexgen/waiting-queue.ts";
import { planStage } from "../../../common/hexgen/workflow.ts";
import { orderClass, orderKey } from "../../../common/urgency.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { Engine, SimulatedCall } from "./engine.ts";
import { PrefixMemory } from "./prefix-memory.ts";
import { ReferenceEngine } from "./reference-engine.ts";
import type { Scenario } from "./scenario.ts";
import type { StageTimes } from "./stage-times.ts";
import { StageTable, TemplatePosition } from "./stage-times.ts";
import { baseSloUs } from "./text2sql.ts";
import type { TracedStage, TracedWorkflow } from "./workload.ts";

export interface SimulationResult {
  /** Per workflow, in file order. */
  readonly latenciesUs: Float64Array;
  readonly slosUs: Float64Array;
  readonly sloScales: readonly number[];
  readonly firstArrivalUs: number;
  readonly lastCompletionUs: number;
}

interface RunningWorkflow {
  readonly index: number;
  readonly traced: TracedWorkflow;
  readonly arrivedAt: number;
  readonly slo: number;
  position: TemplatePosition;
  stage: number;
  openCalls: number;
}

export function simulate(scenario: Scenario): SimulationResult {
  return new Simulation(scenario).run();
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #table: StageTable;
  readonly #stagesByIndex: StageTimes[] = [];
  readonly #dispatcher: Dispatcher;
  readonly #prefixes: PrefixMemory[] = [];
  readonly #engines: Engine[];
  readonly #workflows: readonly RunningWorkflow[];
  readonly #result: { latenciesUs: Float64Array; slosUs: Float64Array; lastCompletionUs: number };
  #sequence = 0;
  #finished = 0;
  #nextArrival = 0;

  constructor(scenario: Scenario) {
    const { pool, workflowClass, policy, workflows } = scenario;
    this.#scenario = scenario;
    this.#table = new StageTable(workflowClass, pool);
    this.#dispatcher = new Dispatcher(pool, policy);
    this.#engines = pool.map((_, ordinal) => this.#createEngine(ordinal));
    const rule = policy.order === "pq" ? "repo" : "general";
    const start = new TemplatePosition(workflowClass.template, rule, this.#table);
    const baseUs = baseSloUs(workflowClass, pool);
    this.#workflows = workflows.map((traced, index) => ({
      index,
      traced,
      arrivedAt: scenario.arrivalsUs[index] ?? 0,
      slo: (scenario.sloScales[index] ?? 1) * baseUs,
      position: start,
      stage: -1,
      openCalls: 0,
    }));
    this.#result = {
      latenciesUs: new Float64Array(workflows.length),
      slosUs: Float64Array.from(this.#workflows, ({ slo }) => slo),
      lastCompletionUs: 0,
    };
  }

  run(): SimulationResult {
    while (this.#finished < this.#workflows.length) this.#passInstant(this.#nextInstant());
    return {
      ...this.#result,
      sloScales: this.#scenario.sloScales,
      firstArrivalUs: this.#workflows[0]?.arrivedAt ?? 0,
    };
  }

  #nextInstant(): number {
    let next = this.#workflows[this.#nextArrival]?.arrivedAt ?? Infinity;
    for (const engine of this.#engines) next = Math.min(next, engine.actionEndsAtUs);
    if (next === Infinity) throw new RangeError("the simulation has work left but no next event");
    return next;
  }

  #passInstant(nowUs: number): void {
    const ready: RunningWorkflow[] = [];
    for (const [ordinal, engine] of this.#engines.entries()) {
      if (engine.actionEndsAtUs !== nowUs) continue;
      for (const call of engine.advance(nowUs)) this.#endCall(call, ordinal, ready);
    }
    for (const workflow of ready) this.#startStage(workflow, nowUs);
    for (;;) {
      const arriving = this.#workflows[this.#nextArrival];
      if (arriving === undefined || arriving.arrivedAt !== nowUs) return;
      this.#nextArrival += 1;
      this.#startStage(arriving, nowUs);
    }
  }

  #endCall(call: SimulatedCall, ordinal: number, ready: RunningWorkflow[]): void {
    this.#dispatcher.ended(ordinal, call.bookedUs);
    const workflow = this.#workflows[call.workflow];
    if (workflow === undefined) return;
    workflow.openCalls -= 1;
    if (workflow.openCalls === 0) ready.push(workflow);
  }

  /** Starts the next stage of a workflow, or ends the workflow when there is none. */
  #startStage(workflow: RunningWorkflow, nowUs: number): void {
    workflow.stage += 1;
    const stage = workflow.traced.stages[workflow.stage];
    if (stage === undefined) {
      this.#result.latenciesUs[workflow.index] = nowUs - workflow.arrivedAt;
      this.#result.lastCompletionUs = nowUs;
      this.#finished += 1;
      return;
    }
    workflow.position = workflow.position.after(stage.stage);
    workflow.openCalls = stage.calls.length;
    this.#dispatchStage(workflow, stage, nowUs);
  }

  #dispatchStage(workflow: RunningWorkflow, stage: TracedStage, nowUs: number): void {
    const { order } = this.#scenario.policy;
    const times = this.#stageTimes(stage.stage);
    const debt = order === "pq" ? "unbounded" : "bounded";
    const plan = planStage(
      workflow,
      { now: nowUs, expectedNow: times.meanUs, later: workflow.position.expectedUs },
      { template: "general", debt },
    );
    for (const tokens of stage.calls) {
      const target = this.#dispatcher.dispatch((ordinal) =>
        this.#estimateUs(times, workflow.index, ordinal),
      );
      const ranked = {
        ...plan,
        serviceTime: target.serviceUs,
        workflowArrivedAt: workflow.arrivedAt,
        deadlineAt: workflow.arrivedAt + workflow.slo,
      };
      const callClass = orderClass(order, ranked, nowUs);
      const call: SimulatedCall = {
        inputTokens: tokens.inputTokens,
        outputTokens: tokens.outputTokens,
        workflow: workflow.index,
        stageIndex: times.index,
        bookedUs: target.serviceUs,
        dispatchedAtUs: nowUs,
        waitingSince: nowUs,
        orderClass: callClass,
        key: orderKey(order, ranked, callClass),
        sequence: this.#sequence,
        deadlineAt: ranked.deadlineAt,
        rest: plan.rest,
      };
      this.#sequence += 1;
      this.#engines[target.ordinal]?.enqueue(call, nowUs);
    }
  }

  #stageTimes(name: string): StageTimes {
    const times = this.#table.of(name);
    this.#stagesByIndex[times.index] = times;
    return times;
  }

  #estimateUs(times: StageTimes, workflow: number, ordinal: number): number {
    const plainUs = times.serviceUs[ordinal] ?? 0;
    const card = this.#scenario.pool[ordinal];
    if (!this.#scenario.prefixReuse || card === undefined) return plainUs;
    const { facts, index } = times;
    const typical = { workflow, inputTokens: facts.inputTokens };
    const cachedTokens = this.#prefixes[ordinal]?.cachedTokens(facts, index, typical) ?? 0;
    return cachedTokens === 0 ? plainUs : serviceUs(card.profile, { ...facts, cachedTokens });
  }

  #createEngine(ordinal: number): Engine {
    const { pool, policy, prefixReuse } = this.#scenario;
    const card = pool[ordinal];
    if (card === undefined) throw new RangeError(`no card ${ordinal}`);
    const memory = new PrefixMemory();
    this.#prefixes[ordinal] = memory;
    return new ReferenceEngine({
      profile: card.profile,
      kvTokens: card.kvTokens,
      queue: new WaitingQueue<SimulatedCall>({ order: policy.order }),
      startPrefill: (call) => {
        const facts = this.#stagesByIndex[call.stageIndex]?.facts;
        if (!prefixReuse || facts === undefined) return 0;
        const cached = memory.cachedTokens(facts, call.stageIndex, call);
        memory.remember(facts, call.stageIndex, call.workflow);
        return cached;
      },
    });
  }
}
