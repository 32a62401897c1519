/**
 * Runs one scenario on virtual time, in whole us. The rules (cost, dispatch, budgets, orders,
 * queue) are the product's own; this file only moves time. Within one instant: cards whose action
 * ends, in pool order; then the stages that became ready, in that order; then what was set for this
 * instant (deliveries, outages); then arrivals.
 */
import { Heap } from "../../../common/hexgen/heap.ts";
import { WaitingQueue } from "../../../common/hexgen/waiting-queue.ts";
import { ChunkedEngine } from "./chunked-engine.ts";
import type { SimulatedTarget } from "./dispatcher.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { Engine, EngineParts, SimulatedCall } from "./engine.ts";
import { Estimates } from "./estimates.ts";
import type { RankedWorkflow } from "./ranking.ts";
import { queueOrder, Ranking } from "./ranking.ts";
import { Realism } from "./realism.ts";
import { ReferenceEngine } from "./reference-engine.ts";
import type { Scenario } from "./scenario.ts";
import { Stealing } from "./stealing.ts";
import { baseSloUs } from "./text2sql.ts";
import type { CallTokens, TracedWorkflow } from "./workload.ts";

export interface SimulationResult {
  /** Per workflow, in file order, as all others. */
  readonly arrivalsUs: Float64Array;
  readonly latenciesUs: Float64Array;
  readonly slosUs: Float64Array;
  readonly sloScales: readonly number[];
}

interface RunningWorkflow extends RankedWorkflow {
  readonly index: number;
  readonly traced: TracedWorkflow;
  stage: number;
  openCalls: number;
}

/** Something set for an instant; in order of setting when instants are equal. */
interface Timer {
  readonly atUs: number;
  readonly sequence: number;
  readonly act: (nowUs: number) => void;
}

export function simulate(scenario: Scenario): SimulationResult {
  return new Simulation(scenario).run();
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #realism: Realism;
  readonly #estimates: Estimates;
  readonly #dispatcher: Dispatcher;
  readonly #ranking: Ranking;
  readonly #engines: readonly Engine[];
  readonly #down = new Set<number>();
  readonly #workflows: readonly RunningWorkflow[];
  readonly #latenciesUs: Float64Array;
  readonly #timers = new Heap<Timer>(
    (left, right) =>
      left.atUs < right.atUs || (left.atUs === right.atUs && left.sequence < right.sequence),
  );
  /** Calls that found no card up, in their order. */
  #homeless: SimulatedCall[] = [];
  #timerSequence = 0;
  #sequence = 0;
  #finished = 0;
  #nextArrival = 0;

  constructor(scenario: Scenario) {
    const { pool, workflowClass, policy, workflows } = scenario;
    this.#scenario = scenario;
    this.#realism = new Realism(scenario.realism);
    this.#estimates = new Estimates(scenario);
    this.#dispatcher = new Dispatcher(pool, policy, this.#estimates);
    this.#ranking = new Ranking(policy, workflowClass, this.#estimates.table);
    this.#engines = this.#createEngines();
    const baseUs = baseSloUs(workflowClass, pool);
    this.#workflows = workflows.map((traced, index) => ({
      index,
      traced,
      arrivedAt: scenario.arrivalsUs[index] ?? 0,
      slo: (scenario.sloScales[index] ?? 1) * baseUs,
      position: this.#ranking.start(traced.template),
      stage: -1,
      openCalls: 0,
    }));
    this.#latenciesUs = new Float64Array(workflows.length);
    this.#setOutages();
  }

  run(): SimulationResult {
    while (this.#finished < this.#workflows.length) this.#passInstant(this.#nextInstant());
    return {
      arrivalsUs: Float64Array.from(this.#workflows, ({ arrivedAt }) => arrivedAt),
      latenciesUs: this.#latenciesUs,
      slosUs: Float64Array.from(this.#workflows, ({ slo }) => slo),
      sloScales: this.#scenario.sloScales,
    };
  }

  #createEngines(): Engine[] {
    const { pool, policy } = this.#scenario;
    const stealing =
      policy.variant === "stealing" ? new Stealing(this.#dispatcher, this.#estimates) : undefined;
    return pool.map((card, ordinal) => {
      const parts: EngineParts = {
        card,
        queue: new WaitingQueue<SimulatedCall>({ order: queueOrder(policy) }),
        admission: policy.admission ?? "blocking",
        startPrefill: (call) => this.#estimates.startPrefill(ordinal, call),
        reached: (call, point) => this.#estimates.reached(ordinal, call, point),
        ...(stealing === undefined ? {} : { steal: (fits) => stealing.steal(ordinal, fits) }),
      };
      stealing?.join(parts);
      return this.#createEngine(ordinal, parts);
    });
  }

  #createEngine(ordinal: number, parts: EngineParts): Engine {
    const settings = this.#scenario.realism?.engine;
    if (settings === undefined) return new ReferenceEngine(parts);
    return new ChunkedEngine(parts, settings, this.#estimates.cacheOf(ordinal));
  }

  #nextInstant(): number {
    const arrivalUs = this.#workflows[this.#nextArrival]?.arrivedAt ?? Infinity;
    let next = Math.min(arrivalUs, this.#timers.peek()?.atUs ?? Infinity);
    for (const engine of this.#engines) next = Math.min(next, engine.actionEndsAtUs);
    if (next === Infinity) throw new RangeError("the simulation has work left but no next event");
    return next;
  }

  #passInstant(nowUs: number): void {
    const ready: RunningWorkflow[] = [];
    for (const [ordinal, engine] of this.#engines.entries()) {
      if (engine.actionEndsAtUs !== nowUs) continue;
      for (const call of engine.advance(nowUs)) this.#endCall(call, ordinal, nowUs, ready);
    }
    for (const workflow of ready) this.#endStage(workflow, nowUs);
    this.#passTimers(nowUs);
    this.#passArrivals(nowUs);
  }

  #passTimers(nowUs: number): void {
    for (;;) {
      const timer = this.#timers.peek();
      if (timer === undefined || timer.atUs > nowUs) return;
      this.#timers.pop();
      timer.act(nowUs);
    }
  }

  #passArrivals(nowUs: number): void {
    for (;;) {
      const arriving = this.#workflows[this.#nextArrival];
      if (arriving === undefined || arriving.arrivedAt !== nowUs) return;
      this.#nextArrival += 1;
      this.#startStage(arriving, nowUs);
    }
  }

  #endCall(call: SimulatedCall, ordinal: number, nowUs: number, ready: RunningWorkflow[]): void {
    this.#after(this.#realism.dispatchLatencyUs(), nowUs, () => {
      this.#dispatcher.unbook(ordinal, call);
    });
    const workflow = this.#workflows[call.workflow];
    if (workflow === undefined) return;
    workflow.openCalls -= 1;
    if (workflow.openCalls === 0) ready.push(workflow);
  }

  #endStage(workflow: RunningWorkflow, nowUs: number): void {
    const isLast = workflow.stage + 1 === workflow.traced.stages.length;
    const toolTimeUs = isLast ? 0 : this.#realism.toolTimeUs();
    this.#after(toolTimeUs, nowUs, (atUs) => this.#startStage(workflow, atUs));
  }

  /** Starts the next stage of a workflow, or ends the workflow when there is none. */
  #startStage(workflow: RunningWorkflow, nowUs: number): void {
    workflow.stage += 1;
    const stage = workflow.traced.stages[workflow.stage];
    if (stage === undefined) {
      this.#latenciesUs[workflow.index] = nowUs - workflow.arrivedAt;
      this.#finished += 1;
      return;
    }
    workflow.openCalls = stage.calls.length;
    const times = this.#estimates.table.of(stage.stage);
    const plan = this.#ranking.startStage(workflow, stage.stage, nowUs, times.meanUs);
    for (const tokens of stage.calls) {
      const target = this.#chooseFor(times.index, workflow.index);
      const serviceTime = target?.serviceUs ?? times.meanUs;
      const ranked = this.#ranking.rank(workflow, plan, serviceTime, nowUs);
      const call = this.#createCall(workflow, { tokens, stageIndex: times.index }, nowUs);
      this.#send({ ...call, ...ranked, rest: plan.rest }, target, nowUs);
    }
  }

  #createCall(
    workflow: RunningWorkflow,
    { tokens, stageIndex }: { tokens: CallTokens; stageIndex: number },
    nowUs: number,
  ): Omit<SimulatedCall, "orderClass" | "key" | "rest"> {
    const sequence = this.#sequence;
    this.#sequence += 1;
    return {
      inputTokens: tokens.inputTokens,
      outputTokens: this.#realism.outputTokens(tokens.outputTokens),
      workflow: workflow.index,
      stageIndex,
      sequence,
      deadlineAt: workflow.arrivedAt + workflow.slo,
      waitingSince: nowUs,
      tenant: this.#scenario.tenants?.[workflow.index] ?? "",
      bookedUs: 0,
      bookedEngineUs: 0,
    };
  }

  #chooseFor(stageIndex: number, workflow: number): SimulatedTarget | undefined {
    const times = this.#estimates.table.at(stageIndex);
    if (times === undefined) return undefined;
    return this.#dispatcher.choose(times, workflow, this.#realism.estimateFactor());
  }

  #send(call: SimulatedCall, target: SimulatedTarget | undefined, nowUs: number): void {
    if (target === undefined) {
      this.#homeless.push(call);
      return;
    }
    this.#dispatcher.book(target, call);
    this.#after(this.#realism.dispatchLatencyUs(), nowUs, (atUs) => {
      if (this.#down.has(target.ordinal)) this.#resend(call, target.ordinal, atUs);
      else this.#engines[target.ordinal]?.enqueue(call, atUs);
    });
  }

  /** A call whose card is gone goes elsewhere, with its original place in the order. */
  #resend(call: SimulatedCall, lostOrdinal: number, nowUs: number): void {
    this.#dispatcher.unbook(lostOrdinal, call);
    this.#send(call, this.#chooseFor(call.stageIndex, call.workflow), nowUs);
  }

  #setOutages(): void {
    for (const outage of this.#scenario.realism?.outages ?? []) {
      this.#at(Math.round(outage.fromS * 1e6), (atUs) => this.#lose(outage.card, atUs));
      if (outage.untilS === Infinity) continue;
      this.#at(Math.round(outage.untilS * 1e6), (atUs) => this.#restore(outage.card, atUs));
    }
  }

  #lose(ordinal: number, nowUs: number): void {
    this.#down.add(ordinal);
    this.#dispatcher.setReady((each) => !this.#down.has(each));
    for (const call of this.#engines[ordinal]?.lose() ?? []) this.#resend(call, ordinal, nowUs);
  }

  #restore(ordinal: number, nowUs: number): void {
    this.#down.delete(ordinal);
    this.#dispatcher.setReady((each) => !this.#down.has(each));
    const waiting = this.#homeless;
    this.#homeless = [];
    for (const call of waiting) {
      this.#send(call, this.#chooseFor(call.stageIndex, call.workflow), nowUs);
    }
  }

  /** Acts after a delay; without one at once, in place. */
  #after(delayUs: number, nowUs: number, act: (atUs: number) => void): void {
    if (delayUs === 0) act(nowUs);
    else this.#at(nowUs + delayUs, act);
  }

  #at(atUs: number, act: (atUs: number) => void): void {
    this.#timers.push({ atUs, sequence: this.#timerSequence, act });
    this.#timerSequence += 1;
  }
}
