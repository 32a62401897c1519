/**
 * What estimates know: per stage the service time on each card and its mean over the pool, and
 * per workflow the expected work that remains. Template positions are interned, because all
 * workflows of a class pass the same few.
 */
import { engineUs } from "../../../common/hexgen/batch-dispatch.ts";
import { serviceUs } from "../../../common/hexgen/cost.ts";
import type { Template, TemplateRule } from "../../../common/hexgen/template.ts";
import { advanceTemplate, expectedTime } from "../../../common/hexgen/template.ts";
import type { PoolCard } from "./scenario.ts";
import type { StageFacts, WorkflowClass } from "./workload.ts";

export interface StageTimes {
  readonly index: number;
  readonly facts: StageFacts;
  /** Per card, nothing cached. */
  readonly serviceUs: readonly number[];
  /** The same as engine time, see `batch-dispatch.ts`. */
  readonly engineUs: readonly number[];
  readonly meanUs: number;
}

export class StageTable {
  readonly #byName = new Map<string, StageTimes>();
  readonly #byIndex: StageTimes[] = [];
  readonly #pool: readonly PoolCard[];

  constructor(workflowClass: WorkflowClass, pool: readonly PoolCard[]) {
    this.#pool = pool;
    for (const [name, facts] of Object.entries(workflowClass.stages)) this.#add(name, facts);
  }

  /** Times of a stage; a stage that the class does not know has the size of nothing. */
  of(name: string): StageTimes {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const nothing = { inputTokens: 0, outputTokens: 0, sharedPrefixTokens: 0, isChained: false };
    return this.#add(name, nothing);
  }

  at(index: number): StageTimes | undefined {
    return this.#byIndex[index];
  }

  #add(name: string, facts: StageFacts): StageTimes {
    const size = { ...facts, cachedTokens: 0 };
    const times = this.#pool.map(({ profile }) => serviceUs(profile, size));
    const entry = {
      index: this.#byName.size,
      facts,
      serviceUs: times,
      engineUs: this.#pool.map((card) => engineUs(card, size)),
      meanUs: times.reduce((sum, time) => sum + time, 0) / times.length,
    };
    this.#byName.set(name, entry);
    this.#byIndex.push(entry);
    return entry;
  }
}

/** A position in a template: what is left after some starts, and its expected time. */
export class TemplatePosition {
  readonly expectedUs: number;
  readonly #template: Template;
  readonly #rule: TemplateRule;
  readonly #table: StageTable;
  readonly #next = new Map<string, TemplatePosition>();

  constructor(template: Template, rule: TemplateRule, table: StageTable) {
    this.#template = template;
    this.#rule = rule;
    this.#table = table;
    this.expectedUs = expectedTime(template, (stage) => table.of(stage).meanUs);
  }

  /** The position after `stage` has started. */
  after(stage: string): TemplatePosition {
    const known = this.#next.get(stage);
    if (known !== undefined) return known;
    const left = advanceTemplate(this.#rule, this.#template, stage);
    const position = new TemplatePosition(left, this.#rule, this.#table);
    this.#next.set(stage, position);
    return position;
  }
}
