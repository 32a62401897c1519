/**
 * What the workflows of one class teach: how long prompts and answers of each stage are, and which
 * stages follow each other. The template is the way that most workflows took, each stage with the
 * share of workflows that passed it.
 */
import type { LoggedCall } from "../../../common/contracts/call-log.ts";
import type { CallSample } from "../../../common/contracts/push.ts";
import type { ClassKnowledge, ClassStage } from "../../../common/hexgen/knowledge.ts";
import type { OutputLengths } from "../../../common/hexgen/output-lengths.ts";
import { createOutputLengths } from "../../../common/hexgen/output-lengths.ts";

/** Names come from callers. */
const MOST_STAGES = 64;
/** Workflows that may be open at once before the oldest is taken for over. */
const MOST_OPEN = 2_048;
/** Ways remembered for the template. */
const WAYS = 256;
/** A stage that fewer workflows than this pass may be skipped. */
const ALWAYS = 0.95;
const INPUT_WEIGHT = 0.05;

interface StageHistory {
  readonly outputs: OutputLengths;
  inputTokens: number;
  calls: number;
}

export class ClassLearner {
  readonly #stages = new Map<string, StageHistory>();
  /** Stages by index of the workflows that are not over, by workflow. */
  readonly #open = new Map<string, Map<number, string>>();
  readonly #ways: (readonly string[])[] = [];
  #workflows = 0;

  observeSample(sample: CallSample): void {
    const history = this.#historyOf(sample.stage);
    if (history === undefined || sample.outputTokens < 0 || sample.promptTokens < 0) return;
    history.calls += 1;
    history.outputs.observe(sample.outputTokens);
    const weight = history.calls === 1 ? 1 : INPUT_WEIGHT;
    history.inputTokens += weight * (sample.promptTokens - history.inputTokens);
  }

  observeCall(call: LoggedCall): void {
    if (call.workflow === "") return;
    const key = `${call.tenant}/${call.workflow}`;
    let stages = this.#open.get(key);
    if (stages === undefined) {
      this.#makeRoom();
      this.#open.set(key, (stages = new Map()));
    }
    stages.set(call.stageIndex, call.stage);
    if (call.isFinal) this.#end(key, stages);
  }

  /** Times are the caller's: they depend on the pool. */
  learnt(
    expectedUs: (stage: string, inputTokens: number, outputUpper: number) => number,
  ): ClassKnowledge {
    const stages = [...this.#stages].map(([stage, { outputs, inputTokens, calls }]) => {
      const outputMedian = outputs.median() ?? 0;
      const outputUpper = outputs.upper() ?? 0;
      const input = Math.round(inputTokens);
      const knowledge = {
        calls,
        inputTokens: input,
        outputMedian,
        outputUpper,
        expectedUs: expectedUs(stage, input, outputUpper),
      };
      return [stage, knowledge] as const;
    });
    return {
      template: this.#template(),
      stages: Object.fromEntries(stages),
      workflows: this.#workflows,
    };
  }

  #historyOf(stage: string): StageHistory | undefined {
    const known = this.#stages.get(stage);
    if (known !== undefined || this.#stages.size >= MOST_STAGES) return known;
    const made = { outputs: createOutputLengths(), inputTokens: 0, calls: 0 };
    this.#stages.set(stage, made);
    return made;
  }

  #makeRoom(): void {
    if (this.#open.size < MOST_OPEN) return;
    const [eldest] = this.#open;
    if (eldest !== undefined) this.#end(eldest[0], eldest[1]);
  }

  #end(key: string, stages: ReadonlyMap<number, string>): void {
    this.#open.delete(key);
    this.#workflows += 1;
    const inOrder = [...stages].toSorted(([left], [right]) => left - right);
    this.#ways.push(inOrder.map(([, stage]) => stage));
    if (this.#ways.length > WAYS) this.#ways.shift();
  }

  #template(): ClassStage[] {
    const way = commonest(this.#ways);
    const seen = new Map<string, number>();
    return way.map((stage) => {
      const times = (seen.get(stage) ?? 0) + 1;
      seen.set(stage, times);
      const probability = shareWith(this.#ways, stage, times);
      return { stage, optional: probability < ALWAYS, probability };
    });
  }
}

/** The way that most took; among those as frequent the longest. */
function commonest(ways: readonly (readonly string[])[]): readonly string[] {
  const counts = new Map<string, number>();
  let best: readonly string[] = [];
  let most = 0;
  for (const way of ways) {
    const key = way.join("\n");
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count > most || (count === most && way.length > best.length)) [best, most] = [way, count];
  }
  return best;
}

/** Share of ways that pass a stage at least so many times. */
function shareWith(ways: readonly (readonly string[])[], stage: string, times: number): number {
  const passing = ways.filter((way) => way.filter((name) => name === stage).length >= times);
  return Number((passing.length / Math.max(ways.length, 1)).toFixed(3));
}
