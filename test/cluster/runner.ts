/** Takes steps one after the other, prints each with its verdict, and keeps the count. */
import { errorText } from "../../common/errors.ts";
import type { ReportBuilder } from "../../foundation/report.ts";
import type { Step } from "./steps/step.ts";

export interface RunnerOptions {
  readonly report: ReportBuilder;
  /** Words of which a step's name has to hold one; undefined: every step. */
  readonly only: readonly string[] | undefined;
  /** What failed runs once more, after this; undefined: a failure stands. */
  readonly beforeSecondTry: (() => Promise<void>) | undefined;
}

/** Without it nothing else can run. */
const ALWAYS = "the cluster is up";

export class StepRunner {
  readonly #options: RunnerOptions;
  passed = 0;
  failed = 0;
  /** The step that runs now, for the word about what was cut; empty between steps. */
  current = "";

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  async run(step: Step): Promise<void> {
    if (!this.#isChosen(step.name)) return;
    this.current = step.name;
    const first = await this.#attempt(step);
    const { beforeSecondTry } = this.#options;
    if (first.isPassed || beforeSecondTry === undefined) return this.#note(step, first);
    print(`again ${step.name}  (${seconds(first)})\n      ${first.remark}`);
    await beforeSecondTry();
    const second = await this.#attempt(step);
    const remark = `second try: ${second.remark}; first: ${first.remark}`;
    this.#note(step, { ...second, remark });
  }

  /** Something failed that is no step. */
  fail(what: string): void {
    this.failed += 1;
    print(`FAIL  ${what}`);
  }

  async #attempt({ run }: Step): Promise<Attempted> {
    const startedAt = performance.now();
    const ms = (): number => Math.round(performance.now() - startedAt);
    try {
      const remark = (await run()) ?? "";
      return { isPassed: true, ms: ms(), remark };
    } catch (error) {
      return { isPassed: false, ms: ms(), remark: errorText(error) };
    }
  }

  #note({ name }: Step, attempted: Attempted): void {
    this.current = "";
    const { isPassed, ms, remark } = attempted;
    if (isPassed) this.passed += 1;
    else this.failed += 1;
    const verdict = isPassed ? "pass" : "fail";
    this.#options.report.addToTable("steps", { step: name, verdict, ms, remark });
    const words = remark === "" ? "" : `\n      ${remark}`;
    print(`${isPassed ? "pass" : "FAIL"}  ${name}  (${seconds(attempted)})${words}`);
  }

  #isChosen(name: string): boolean {
    const { only } = this.#options;
    if (only === undefined || name.startsWith(ALWAYS)) return true;
    return only.some((word) => name.includes(word));
  }
}

interface Attempted {
  readonly isPassed: boolean;
  readonly ms: number;
  readonly remark: string;
}

const seconds = ({ ms }: Attempted): string => `${(ms / 1000).toFixed(1)} s`;

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
